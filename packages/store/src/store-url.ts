/** The form of the url of each backend. Its keys are the schemes. */
const URL_FORMS = {
  memory: 'memory',
  files: 'files:DIR',
  sqlite: 'sqlite:FILE',
  postgres: 'postgres://HOST/DATABASE',
} as const

/** The scheme of a store url, which names the backend. */
export type StoreScheme = keyof typeof URL_FORMS

/** Other names of schemes. */
const SCHEME_ALIASES: { readonly [alias: string]: StoreScheme } = { postgresql: 'postgres' }

/** The forms of a store url, in words. */
export const STORE_URL_FORMAT = Object.values(URL_FORMS)
  .join(', ')
  .replace(/, ([^,]*)$/, ' or $1')

/** A store url that names a backend. */
export interface StoreUrl {
  readonly scheme: StoreScheme
  /** The part after the scheme: a folder, a file or the address of a database. */
  readonly location: string
}

/** Parses a store url, or returns its problem. The problem contains only the scheme, because the rest can contain a password. */
export function parseStoreUrl(url: string): StoreUrl | { readonly problem: string } {
  const [, input = '', location = ''] = /^([a-z][a-z0-9+.-]*)(?::(.*))?$/is.exec(url) ?? []
  const name = Object.hasOwn(SCHEME_ALIASES, input) ? (SCHEME_ALIASES[input] as string) : input
  if (!Object.hasOwn(URL_FORMS, name))
    return { problem: name === '' ? 'a url without a scheme' : `the unknown scheme '${name}:'` }
  const scheme = name as StoreScheme
  if (scheme === 'memory' ? location !== '' : location === '')
    return { problem: `${location === '' ? 'no location' : 'a location'} after '${scheme}:'` }
  if (scheme === 'postgres' && !/^\/\/./s.test(location)) return { problem: `'${scheme}:' without a host` }
  return { scheme, location }
}
