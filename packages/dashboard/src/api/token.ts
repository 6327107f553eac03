import { signal } from '@preact/signals'
import { tabStorage } from '../browser.js'

const TOKEN_STORAGE_KEY = 'holdfast.token'

/** The token of this tab: gone when it is closed. */
export const token = signal<string | undefined>(tabStorage.getItem(TOKEN_STORAGE_KEY) ?? undefined)

/** Whether the server asks for one: `wrong` where the one that was shown is not known. */
export const tokenRequest = signal<'no' | 'missing' | 'wrong'>('no')

/** Called when the server refuses for want of a token. */
export const onTokenRejected = (shown: boolean): void => {
  tokenRequest.value = shown ? 'wrong' : 'missing'
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
