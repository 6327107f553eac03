import { effect, signal } from '@preact/signals'
import { localStore, matchMedia, page } from './browser.js'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const THEME_STORAGE_KEY = 'holdfast.theme'

const storedTheme = localStore.getItem(THEME_STORAGE_KEY)

/** The theme that the user selected. */
export const theme = signal<Theme>(THEMES.find((one) => one === storedTheme) ?? 'system')

const darkQuery = matchMedia.call(globalThis, '(prefers-color-scheme: dark)')

/** The resulting theme. Charts use it, because they cannot read style sheets. */
export const effectiveTheme = signal<'light' | 'dark'>('light')

export function startTheme(): void {
  const applyTheme = (): void => {
    const selected = theme.value
    effectiveTheme.value = selected === 'system' ? (darkQuery.matches ? 'dark' : 'light') : selected
    page.documentElement.dataset['theme'] = effectiveTheme.peek()
  }
  darkQuery.addEventListener('change', applyTheme)
  effect(() => {
    applyTheme()
    localStore.setItem(THEME_STORAGE_KEY, theme.value)
  })
}
