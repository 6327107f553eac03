/**
 * A browser may name a language that `Intl` does not take: one started without a locale says `en-US@posix`. What the page
 * is drawn with asks `Intl` for the browser's language as it loads, so this is loaded before it.
 */
try {
  Intl.getCanonicalLocales(globalThis.navigator.language)
} catch {
  Object.defineProperty(globalThis.navigator, 'language', { value: 'en', configurable: true })
}
