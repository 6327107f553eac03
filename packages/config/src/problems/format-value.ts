/** Formats a path as one string. Keys with dots and other special characters are put in brackets. */
export function formatPath(path: readonly string[]): string {
  let result = ''
  for (const step of path) {
    if (/^\d+$/.test(step) || !/^[\w$?-]+$/.test(step))
      result += `[${/^\d+$/.test(step) ? step : quoteValue(step)}]`
    else result += result === '' ? step : `.${step}`
  }
  return result
}

/** How many characters of a value are searched for credentials. Far fewer are shown. */
const MAX_INSPECTED_CHARACTERS = 2000

/** Truncates a value, and masks a url that the cut would divide. */
const truncateBeforeUrl = (value: string): string =>
  value.slice(0, MAX_INSPECTED_CHARACTERS).replace(/:\/\/[^\s"'<>]*$/, '://***')

/**
 * Quotes a value for a message. Credentials are removed before it is shortened, because half of one would not be
 * recognised.
 */
function quoteValue(value: string): string {
  const redacted = withoutCredentials(
    value.length > MAX_INSPECTED_CHARACTERS ? truncateBeforeUrl(value) : value,
  )
  return JSON.stringify(redacted.length > 60 ? `${redacted.slice(0, 60)}…` : redacted)
}

/** The parts of a url that may be secret: credentials and query parameters. */
const CREDENTIALS_PATTERN = /([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/?#@:"'<>]*:(?!\d{1,5}(?:[/?#]|$))[^\s"'<>]*@/gi
const USER_PATTERN = /([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/?#"'<>]*@/gi
const PARAMETERS_PATTERN = /([a-z][a-z\d+.-]{0,30}:\/\/[^\s?"'<>]*\?)[^\s"'<>]+/gi

/** Masks the credentials in urls. */
export const withoutCredentials = (value: string): string =>
  value.includes('://')
    ? value
        .replace(CREDENTIALS_PATTERN, '$1***@')
        .replace(USER_PATTERN, '$1***@')
        .replace(PARAMETERS_PATTERN, '$1***')
    : value

/** Formats a value in a few characters, for messages. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return quoteValue(value)
  if (Array.isArray(value)) return 'a list'
  if (value === undefined) return 'nothing'
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  return typeof value === 'object' ? 'a mapping' : `a ${typeof value}`
}
