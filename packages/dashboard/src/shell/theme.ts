import { effect, signal } from '@preact/signals'
import { machineStore, matchMedia, page } from '../page.js'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'holdfast.theme'

const kept = machineStore.getItem(KEY)

/** What the reader wishes. */
export const theme = signal<Theme>(THEMES.find((one) => one === kept) ?? 'system')

const dark = matchMedia.call(globalThis, '(prefers-color-scheme: dark)')

/** What that comes to. Charts read it, because they cannot read style sheets. */
export const shade = signal<'light' | 'dark'>('light')

export function startTheme(): void {
  const follow = (): void => {
    const wish = theme.value
    shade.value = wish === 'system' ? (dark.matches ? 'dark' : 'light') : wish
    page.documentElement.dataset['theme'] = shade.peek()
  }
  dark.addEventListener('change', follow)
  effect(() => {
    follow()
    machineStore.setItem(KEY, theme.value)
  })
}
