import { signal } from '@preact/signals'
import { ApiError, call } from './call.js'

const ROLES = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** What the caller may do; undefined until it is known. */
export const role = signal<Role | undefined>(undefined)

/** Whether the caller's role suffices. Read while rendering, it follows the role. */
export const may = (needed: Role): boolean =>
  role.value !== undefined && ROLES.indexOf(role.value) >= ROLES.indexOf(needed)

/** Whether a request is refused for its role alone. Each of these changes nothing: what it names is not there. */
async function allows(path: string, body?: unknown): Promise<boolean> {
  try {
    await call('POST', path, { body })
    return true
  } catch (error) {
    if (error instanceof ApiError && [400, 404].includes(error.status)) return true
    if (error instanceof ApiError && error.status === 403) return false
    throw error
  }
}

/** Finds out what the caller may do, by what the server refuses: roles are looked at before anything else. */
export async function learnRole(): Promise<void> {
  if (await allows('/config/rollback', {})) role.value = 'admin'
  else role.value = (await allows('/jobs/none/cancel')) ? 'operator' : 'viewer'
}
