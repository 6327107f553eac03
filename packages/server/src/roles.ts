/** The roles of callers: read, operate, change the configuration. Each role includes the ones before it. */
export const ROLES = ['viewer', 'operator', 'admin'] as const

/** A role: `viewer`, `operator` or `admin`. Each includes the ones before it. */
export type Role = (typeof ROLES)[number]

/** Whether the role `held` includes the role `needed`. */
export const hasRole = (held: Role, needed: Role): boolean => ROLES.indexOf(held) >= ROLES.indexOf(needed)

/** The caller of a request. */
export interface Caller {
  /** The name of the token; `local` if no token is required. */
  readonly name: string
  readonly role: Role
  /** Whether the caller was authenticated by a token. */
  readonly token: boolean
}

/** The caller of requests that require no token: programs of this machine have every role. */
export const LOCAL: Caller = Object.freeze({ name: 'local', role: 'admin', token: false })
