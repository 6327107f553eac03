import { signal } from '@preact/signals'
import { tabStore } from '../page.js'

const KEY = 'holdfast.token'

/** The token of this tab: gone when it is closed. */
export const token = signal<string | undefined>(tabStore.getItem(KEY) ?? undefined)

/** Whether the server asks for one: `wrong` where the one that was shown is not known. */
export const wanted = signal<'no' | 'missing' | 'wrong'>('no')

/** Called when the server refuses for want of a token. */
export const refused = (shown: boolean): void => {
  wanted.value = shown ? 'wrong' : 'missing'
}

export function useToken(given: string): void {
  tabStore.setItem(KEY, given)
  token.value = given
  wanted.value = 'no'
}

export function forgetToken(): void {
  tabStore.removeItem(KEY)
  token.value = undefined
}
