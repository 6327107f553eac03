/**
 * A browser can have a language that `Intl` rejects: one that is started without a locale has `en-US@posix`. The chart
 * library passes the language of the browser to `Intl` when it loads, so this module is loaded before it.
 */
try {
  Intl.getCanonicalLocales(globalThis.navigator.language)
} catch {
  Object.defineProperty(globalThis.navigator, 'language', { value: 'en', configurable: true })
}
