/** What somebody may do: look, act, or change the rules. Each may do what those before it may. */
export const ROLES = ['viewer', 'operator', 'admin'] as const

/** One of {@link ROLES}. */
export type Role = (typeof ROLES)[number]

/** Whether `held` suffices where `needed` is asked for. */
export const hasRole = (held: Role, needed: Role): boolean => ROLES.indexOf(held) >= ROLES.indexOf(needed)

/** Whoever makes a request. */
export interface Caller {
  /** The token's name; `local` where none is needed. */
  readonly name: string
  readonly role: Role
  /** Whether it is a token that lets them in. */
  readonly token: boolean
}

/** Who is let in where no token is needed: whoever is at this machine may do everything. */
export const LOCAL: Caller = Object.freeze({ name: 'local', role: 'admin', token: false })
