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

/** The query parameters of the time range, which all pages share. */
const RANGE_PARAMS = ['range', 'from', 'to'] as const

/** The time range of a query, as query parameters. */
export const rangeQueryOf = (query: Route['query']): Record<string, string> =>
  Object.fromEntries(Object.entries(query).filter(([name]) => RANGE_PARAMS.includes(name as 'range')))

/** Adds the current time range to a URL that has none, so that the range stays selected on the next page. */
function withCurrentRange(to: string): string {
  const target = new URL(to, place.origin)
  if (RANGE_PARAMS.some((name) => target.searchParams.has(name))) return to
  for (const [name, value] of Object.entries(rangeQueryOf(route.peek().query)))
    target.searchParams.set(name, value)
  return target.pathname + target.search
}

/** The URL and the filter of the last change by typing. */
let typed: { url: string; names: string } | undefined

/** Shows a URL, unless the guard prevents it. */
function setUrl(to: string, isReplaced: boolean): void {
  if (isPrevented(to)) return
  if (isReplaced) past.replaceState(null, '', to)
  else past.pushState(null, '', to)
  route.value = readRoute()
}

/** Navigates to a URL of the dashboard, unless the guard prevents it. The selected time range is kept. */
export const navigate = (to: string, options: { replace?: boolean } = {}): void =>
  setUrl(withCurrentRange(to), options.replace === true)

/**
 * Changes the query of the current page. Filters are stored in the URL, so that it can be shared and Back undoes the last
 * change. With `isTyping` the characters that are typed into one field are one change.
 */
export function updateQuery(
  change: Record<string, string | undefined>,
  options: { isTyping?: boolean } = {},
): void {
  const { path, query } = route.peek()
  const to = urlFor(path, { ...query, ...change })
  const current = place.pathname + place.search
  if (to === urlFor(path, query)) return
  const names = Object.keys(change).join()
  setUrl(to, options.isTyping === true && typed?.names === names && typed.url === current)
  typed = options.isTyping === true ? { url: place.pathname + place.search, names } : undefined
}

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
