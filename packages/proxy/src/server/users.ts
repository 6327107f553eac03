import { createHash, timingSafeEqual } from 'node:crypto'
import type { ProxyContext, ProxyUser } from './options.js'

/** Who calls, and with which parameters. */
export interface ProxyCaller {
  readonly user: string | undefined
  readonly context: ProxyContext
}

const NO_CONTEXT: ProxyContext = Object.freeze({})
const ANONYMOUS_CALLER: ProxyCaller = Object.freeze({ user: undefined, context: NO_CONTEXT })

/** Where a parameter begins. Its value goes on to the next or to the end, so that it may have hyphens. */
const PARAMETER_PATTERN = /-(session|region)-/

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Reads `-session-X-region-Y`; undefined where it is something else. */
function parseParameters(text: string): ProxyContext | undefined {
  if (text === '') return NO_CONTEXT
  const [before, ...parts] = text.split(PARAMETER_PATTERN)
  if (before !== '') return undefined
  const context: { session?: string; region?: string } = {}
  for (let i = 0; i < parts.length; i += 2) {
    const value = parts[i + 1]
    if (!value) return undefined
    context[parts[i] as 'session' | 'region'] = value
  }
  return context
}

/** The name and the password in `Basic` credentials; empty where there are none. */
function decode(authorization: string): readonly [name: string, password: string] {
  const encoded = /^basic +([a-z0-9+/=_-]+) *$/i.exec(authorization)?.[1]
  const [, name = '', password = ''] =
    encoded === undefined ? [] : (/^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? [])
  return [name, password]
}

/** Lets callers in by Proxy-Authorization, and reads the parameters in their names. */
export class UserDirectory {
  private readonly passwords = new Map<string, Buffer>()
  private readonly namesByLength: string[]

  constructor(users: readonly ProxyUser[]) {
    for (const { name, password } of users) this.passwords.set(name, sha256(password))
    // A name may begin like another one: the longer is meant.
    this.namesByLength = [...this.passwords.keys()].sort((a, b) => b.length - a.length)
  }

  /** The caller; undefined where it is not let in. Without users everybody is, whatever the password. */
  authenticate(authorization: string | undefined): ProxyCaller | undefined {
    const open = this.passwords.size === 0
    if (authorization === undefined) return open ? ANONYMOUS_CALLER : undefined
    const [givenName, password] = decode(authorization)
    if (open) {
      const at = givenName.search(PARAMETER_PATTERN)
      return {
        user: undefined,
        context: (at < 0 ? undefined : parseParameters(givenName.slice(at))) ?? NO_CONTEXT,
      }
    }
    const user = this.find(givenName)
    const context = user === undefined ? undefined : parseParameters(givenName.slice(user.length))
    // The comparison takes its time whether the name is known or not.
    const expected = user === undefined ? undefined : this.passwords.get(user)
    const right = timingSafeEqual(sha256(password), expected ?? sha256(''))
    return right && expected !== undefined && context !== undefined ? { user, context } : undefined
  }

  /** The user whose name is in the credentials, right or wrong; undefined if they name none of them. */
  userIn(authorization: string): string | undefined {
    return this.find(decode(authorization)[0])
  }

  private find(input: string): string | undefined {
    return this.namesByLength.find((name) => input === name || input.startsWith(`${name}-`))
  }
}
