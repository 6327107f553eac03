import { effect, signal } from '@preact/signals'
import { localStore, matchMedia, page } from './browser.js'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const THEME_STORAGE_KEY = 'holdfast.theme'

const storedTheme = localStore.getItem(THEME_STORAGE_KEY)

/** What the reader wishes. */
export const theme = signal<Theme>(THEMES.find((one) => one === storedTheme) ?? 'system')

const darkQuery = matchMedia.call(globalThis, '(prefers-color-scheme: dark)')

/** What that comes to. Charts read it, because they cannot read style sheets. */
export const effectiveTheme = signal<'light' | 'dark'>('light')

export function startTheme(): void {
  const follow = (): void => {
    const wish = theme.value
    effectiveTheme.value = wish === 'system' ? (darkQuery.matches ? 'dark' : 'light') : wish
    page.documentElement.dataset['theme'] = effectiveTheme.peek()
  }
  darkQuery.addEventListener('change', follow)
  effect(() => {
    follow()
    localStore.setItem(THEME_STORAGE_KEY, theme.value)
  })
}
