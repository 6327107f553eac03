import { createHash, timingSafeEqual } from 'node:crypto'
import type { ProxyContext, ProxyUser } from './options.js'

/** The user of a call and the parameters of its name. */
export interface ProxyCaller {
  readonly user: string | undefined
  readonly context: ProxyContext
}

const NO_CONTEXT: ProxyContext = Object.freeze({})
const ANONYMOUS_CALLER: ProxyCaller = Object.freeze({ user: undefined, context: NO_CONTEXT })

/** Matches the beginning of a parameter. Its value ends at the next parameter or at the end, so it can contain hyphens. */
const PARAMETER_PATTERN = /-(session|region)-/

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Parses `-session-X-region-Y`; undefined where the text is not valid. */
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

/** The name and the password of `Basic` credentials; empty where they are not valid. */
function decodeBasic(authorization: string): readonly [name: string, password: string] {
  const encoded = /^basic +([a-z0-9+/=_-]+) *$/i.exec(authorization)?.[1]
  const [, name = '', password = ''] =
    encoded === undefined ? [] : (/^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? [])
  return [name, password]
}

/** Authenticates callers by Proxy-Authorization, and parses the parameters in their names. */
export class UserDirectory {
  private readonly passwords = new Map<string, Buffer>()
  private readonly namesByLength: string[]

  constructor(users: readonly ProxyUser[]) {
    for (const { name, password } of users) this.passwords.set(name, sha256(password))
    // A name can be a prefix of another one: the longer name has precedence.
    this.namesByLength = [...this.passwords.keys()].sort((a, b) => b.length - a.length)
  }

  /** The caller; undefined where the credentials are wrong. Without users every caller is accepted. */
  authenticate(authorization: string | undefined): ProxyCaller | undefined {
    const isOpen = this.passwords.size === 0
    if (authorization === undefined) return isOpen ? ANONYMOUS_CALLER : undefined
    const [givenName, password] = decodeBasic(authorization)
    if (isOpen) {
      const at = givenName.search(PARAMETER_PATTERN)
      return {
        user: undefined,
        context: (at < 0 ? undefined : parseParameters(givenName.slice(at))) ?? NO_CONTEXT,
      }
    }
    const user = this.find(givenName)
    const context = user === undefined ? undefined : parseParameters(givenName.slice(user.length))
    // The comparison takes the same time for known and unknown names.
    const expected = user === undefined ? undefined : this.passwords.get(user)
    const isPasswordRight = timingSafeEqual(sha256(password), expected ?? sha256(''))
    return isPasswordRight && expected !== undefined && context !== undefined ? { user, context } : undefined
  }

  /** The user whose name is in the credentials, even if the password is wrong; undefined for an unknown name. */
  userIn(authorization: string): string | undefined {
    return this.find(decodeBasic(authorization)[0])
  }

  private find(input: string): string | undefined {
    return this.namesByLength.find((name) => input === name || input.startsWith(`${name}-`))
  }
}
