import { inspect } from 'node:util'

/** The urls are not stored in the objects, so that printing, copying or serializing one cannot reveal the credentials. */
const urlByTarget = new WeakMap<MemberTarget, string>()

/** The `value` of a configured pool member: its address. Its printed and serialized form contains no credentials. */
export class MemberTarget {
  /** Host name and port. */
  readonly host: string

  constructor(url: string) {
    urlByTarget.set(this, url)
    this.host = new URL(url).host
  }

  /** The configured url, including credentials. */
  get url(): string {
    return urlByTarget.get(this) ?? ''
  }

  /** The origin and path prefix that `createFetch` puts in place of a request's origin. */
  get origin(): string {
    const { origin, pathname } = new URL(this.url)
    return pathname === '/' ? origin : origin + pathname
  }

  /** The protocol and host, without credentials. */
  toString(): string {
    const { protocol, host } = new URL(this.url)
    return `${protocol}//${host}`
  }

  /** The protocol and host, without credentials. */
  toJSON(): string {
    return this.toString()
  }

  [inspect.custom](): string {
    return `MemberTarget(${this.toString()})`
  }
}
