import { hasRole as includesRole, type Role, type WireAccess } from '@holdfast/server/internal'
import { signal } from '@preact/signals'
import { callApi, getJson, setCsrfSource } from './client.js'
import { signInCount, signInState } from './sign-in.js'

/** The caller; undefined until it is loaded. */
export const access = signal<WireAccess | undefined>(undefined)

/** Whether the role of the caller includes `required`. A component that calls it while rendering follows changes of the role. */
export const hasRole = (required: Role): boolean =>
  access.value !== undefined && includesRole(access.value.role, required)

/** Loads the caller and its role. */
export async function loadAccess(signal?: AbortSignal): Promise<void> {
  access.value = await getJson<WireAccess>('/access', {}, signal)
}

/** Signs in with one request. The token is exchanged for a cookie and not kept. @throws ApiClientError for a wrong token */
export async function signIn(token: string, isKept: boolean): Promise<void> {
  access.value = await callApi<WireAccess>('POST', '/access/session', {
    headers: { authorization: `Bearer ${token}` },
    body: { keep: isKept },
  })
  signInState.value = 'allowed'
  signInCount.value++
}

/** Signs out. The server ends the sign-in and deletes the cookie. */
export async function signOut(): Promise<void> {
  await callApi('DELETE', '/access/session')
  access.value = undefined
  signInState.value = 'required'
  signInCount.value++
}

setCsrfSource({ current: () => access.peek()?.csrf_token, reload: loadAccess })
