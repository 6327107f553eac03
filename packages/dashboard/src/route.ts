import { signal } from '@preact/signals'
import { page, past, place } from './browser.js'

/** The current page. Ids are in the query, because the server treats a path with a dot as a file. */
export interface Route {
  readonly path: string
  readonly query: Readonly<Record<string, string>>
}

const readRoute = (): Route => ({
  path: place.pathname.replace(/(?<=.)\/$/, ''),
  query: Object.fromEntries(new URLSearchParams(place.search)),
})

export const route = signal<Route>(readRoute())

/** Query parameters with one or several values. */
export type UrlQuery = Record<string, string | readonly string[] | undefined>

/** The URL of a page; empty parameters are omitted. */
export function urlFor(path: string, query: UrlQuery = {}): string {
  const input = Object.entries(query).flatMap(([name, value = '']) =>
    (typeof value === 'string' ? [value] : value).filter((one) => one !== '').map((one) => [name, one]),
  )
  const search = new URLSearchParams(input).toString()
  return search === '' ? path : `${path}?${search}`
}

/** Called before a navigation with its URL. Returns false to prevent it, for example while a form has unsaved changes. */
export type NavigationGuard = (to: string) => boolean

let navigationGuard: NavigationGuard | undefined

/** Sets the guard of navigations until the returned function is called. */
export function guardNavigation(guard: NavigationGuard): () => void {
  navigationGuard = guard
  return () => {
    if (navigationGuard === guard) navigationGuard = undefined
  }
}

const isPrevented = (to: string): boolean => navigationGuard?.(to) === false

/** Navigates to a URL of the dashboard, unless the guard prevents it. */
export function navigate(to: string, options: { replace?: boolean } = {}): void {
  if (isPrevented(to)) return
  if (options.replace === true) past.replaceState(null, '', to)
  else past.pushState(null, '', to)
  route.value = readRoute()
}

/** Changes the query of the current page. Filters are stored in the URL, so that it can be shared. */
export const updateQuery = (change: Record<string, string | undefined>): void =>
  navigate(urlFor(route.peek().path, { ...route.peek().query, ...change }), { replace: true })

/** Makes links between pages navigate without a reload. */
export function interceptLinks(pages: ReadonlySet<string>): void {
  globalThis.addEventListener('popstate', () => {
    const { path, query } = route.peek()
    // The browser has changed the URL already, so the URL of the page that stays is added again.
    if (isPrevented(place.pathname + place.search)) past.pushState(null, '', urlFor(path, query))
    else route.value = readRoute()
  })
  page.addEventListener('click', (click) => {
    const hasModifier = click.metaKey || click.ctrlKey || click.shiftKey || click.altKey || click.button !== 0
    const link = click.target instanceof Element ? click.target.closest('a') : null
    if (hasModifier || click.defaultPrevented || link === null || link.origin !== place.origin) return
    if (!pages.has(link.pathname) || link.target !== '') return
    click.preventDefault()
    navigate(link.pathname + link.search)
    page.querySelector('main')?.focus({ preventScroll: true })
    globalThis.scrollTo(0, 0)
  })
}
