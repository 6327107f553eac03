import { signal } from '@preact/signals'
import { tabStorage } from '../browser.js'

const TOKEN_STORAGE_KEY = 'holdfast.token'

/** The token of this tab. It is deleted when the tab is closed. */
export const token = signal<string | undefined>(tabStorage.getItem(TOKEN_STORAGE_KEY) ?? undefined)

/** Whether the server requires a token; `wrong` where the token is not known to the server. */
export const tokenRequest = signal<'no' | 'missing' | 'wrong'>('no')

/** Called when the server rejects a request because of its token. */
export const onTokenRejected = (wasSent: boolean): void => {
  tokenRequest.value = wasSent ? 'wrong' : 'missing'
}

export function setToken(value: string): void {
  tabStorage.setItem(TOKEN_STORAGE_KEY, value)
  token.value = value
  tokenRequest.value = 'no'
}

export function clearToken(): void {
  tabStorage.removeItem(TOKEN_STORAGE_KEY)
  token.value = undefined
}
