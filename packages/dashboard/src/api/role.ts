import { hasRole as includesRole, type Role, type WireAccess } from '@holdfast/server/internal'
import { signal } from '@preact/signals'
import { getJson } from './client.js'

/** The caller; undefined until it is loaded. */
export const access = signal<WireAccess | undefined>(undefined)

/** Whether the role of the caller includes `required`. A component that calls it while rendering follows changes of the role. */
export const hasRole = (required: Role): boolean =>
  access.value !== undefined && includesRole(access.value.role, required)

/** Loads the caller and its role. */
export async function loadAccess(signal: AbortSignal): Promise<void> {
  access.value = await getJson<WireAccess>('/access', {}, signal)
}
