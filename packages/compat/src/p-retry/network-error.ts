/** The messages with which `fetch` reports a network failure as a TypeError, as p-retry 7 recognises them. */
const NETWORK_MESSAGES: ReadonlySet<string> = new Set([
  'network error',
  'NetworkError when attempting to fetch resource.',
  'The Internet connection appears to be offline.',
  'Network request failed',
  'fetch failed',
  'terminated',
  ' A network error occurred.',
  'Network connection lost',
])

/** Deno appends the URL; Chrome can append the host in parentheses. */
const NETWORK_PATTERN = /^error sending request for url|^Failed to fetch( \([^]*\))?$/

/** The message of Safari, which other errors also have. */
const SAFARI_PATTERN = /^Load failed( \([^]*\))?$/

/** Whether `fetch` reports a network failure with this error. All other TypeErrors are programming errors. */
export function isNetworkError(error: TypeError): boolean {
  const { name, message, stack } = error
  if (name !== 'TypeError' || typeof message !== 'string') return false
  // Safari's network errors have no stack, unless Sentry added one.
  if (SAFARI_PATTERN.test(message)) return stack === undefined || '__sentry_captured__' in error
  return NETWORK_MESSAGES.has(message) || NETWORK_PATTERN.test(message)
}
