import { signal } from '@preact/signals'
import { getJson } from './client.js'

const ROLES = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** Who the caller is to the server. */
interface Access {
  readonly name: string
  readonly role: Role
  /** Whether it is a token that lets the caller in. */
  readonly token: boolean
}

/** Undefined until it is known. */
export const access = signal<Access | undefined>(undefined)

/** Whether the caller's role suffices. Read while rendering, it follows the role. */
export const hasRole = (required: Role): boolean =>
  access.value !== undefined && ROLES.indexOf(access.value.role) >= ROLES.indexOf(required)

/** Asks who the caller is. With another token it is not known until the answer is there. */
export async function loadAccess(signal: AbortSignal): Promise<void> {
  access.value = await getJson<Access>('/access', {}, signal)
}
