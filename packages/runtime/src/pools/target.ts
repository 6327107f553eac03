import { inspect } from 'node:util'

/** Kept apart from the objects, so that nothing that shows, copies or serializes one can show the credentials in it. */
const urlByTarget = new WeakMap<MemberTarget, string>()

/** Where a member of a pool of the file is: what its `value` is. Shown and serialized, it has no credentials. */
export class MemberTarget {
  /** Name and port. */
  readonly host: string

  constructor(url: string) {
    urlByTarget.set(this, url)
    this.host = new URL(url).host
  }

  /** The url as it was given, credentials included. */
  get url(): string {
    return urlByTarget.get(this) ?? ''
  }

  /** Another origin for the same path, as `createFetch` takes it: with the path of the url, which goes before. */
  get origin(): string {
    const { origin, pathname } = new URL(this.url)
    return pathname === '/' ? origin : origin + pathname
  }

  toString(): string {
    const { protocol, host } = new URL(this.url)
    return `${protocol}//${host}`
  }

  toJSON(): string {
    return this.toString()
  }

  [inspect.custom](): string {
    return `MemberTarget(${this.toString()})`
  }
}
