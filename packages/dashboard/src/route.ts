import { signal } from '@preact/signals'
import { page, past, place } from './browser.js'

/** Where the reader is. Names of things are in the query: a path with a dot in it would be a file's. */
export interface Route {
  readonly path: string
  readonly query: Readonly<Record<string, string>>
}

const readRoute = (): Route => ({
  path: place.pathname.replace(/(?<=.)\/$/, ''),
  query: Object.fromEntries(new URLSearchParams(place.search)),
})

export const route = signal<Route>(readRoute())

/** What an address asks for: a value, or several of them. */
export type UrlQuery = Record<string, string | readonly string[] | undefined>

/** The address of a view; what is empty is left out. */
export function urlFor(path: string, query: UrlQuery = {}): string {
  const input = Object.entries(query).flatMap(([name, value = '']) =>
    (typeof value === 'string' ? [value] : value).filter((one) => one !== '').map((one) => [name, one]),
  )
  const search = new URLSearchParams(input).toString()
  return search === '' ? path : `${path}?${search}`
}

/** Goes to an address of the page's own. */
export function navigate(to: string, options: { replace?: boolean } = {}): void {
  if (options.replace === true) past.replaceState(null, '', to)
  else past.pushState(null, '', to)
  route.value = readRoute()
}

/** Changes the query of the view that is shown: filters follow the address, so that it can be passed on. */
export const updateQuery = (change: Record<string, string | undefined>): void =>
  navigate(urlFor(route.peek().path, { ...route.peek().query, ...change }), { replace: true })

/** Lets links between views change the view instead of loading the page again. */
export function interceptLinks(views: ReadonlySet<string>): void {
  globalThis.addEventListener('popstate', () => {
    route.value = readRoute()
  })
  page.addEventListener('click', (click) => {
    const held = click.metaKey || click.ctrlKey || click.shiftKey || click.altKey || click.button !== 0
    const link = click.target instanceof Element ? click.target.closest('a') : null
    if (held || click.defaultPrevented || link === null || link.origin !== place.origin) return
    if (!views.has(link.pathname) || link.target !== '') return
    click.preventDefault()
    navigate(link.pathname + link.search)
    page.querySelector('main')?.focus({ preventScroll: true })
    globalThis.scrollTo(0, 0)
  })
}
