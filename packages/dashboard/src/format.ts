const integerFormat = new Intl.NumberFormat('en')
const decimalFormat = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const dateTimeFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

/** `12,345`. */
export const formatCount = (value: number): string => integerFormat.format(value)

/** `1 retry`, `2 retries`. */
export const formatPlural = (value: number, one: string, more: string): string =>
  `${formatCount(value)} ${value === 1 ? one : more}`

/** A fraction as `98.4 %`; never rounded to 100 % or 0 %. */
export function formatPercent(share: number): string {
  if (share > 0 && share < 0.001) return '< 0.1 %'
  if (share < 1 && share > 0.999) return '> 99.9 %'
  return `${decimalFormat.format(share * 100)} %`
}

/** Seconds with suitable units: `250 ms`, `1.5 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function formatDuration(seconds: number): string {
  if (seconds === 0) return '0 s'
  if (seconds < 0.001) return '< 1 ms'
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 9.95) return `${decimalFormat.format(seconds)} s`
  const total = Math.round(seconds)
  if (total < 60) return `${total} s`
  const two = (size: number, unit: string, below: number, part: string) => {
    const rest = Math.floor((total % size) / below)
    return `${Math.floor(total / size)} ${unit}${rest === 0 ? '' : ` ${rest} ${part}`}`
  }
  if (total < 3600) return two(60, 'min', 1, 's')
  if (total < 86_400) return two(3600, 'h', 60, 'min')
  return two(86_400, 'd', 3600, 'h')
}

/** A time relative to another, both in milliseconds: `12 s ago`, `in 3 min`, `now`. */
export function formatRelative(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1000)
  if (Math.abs(seconds) < 2) return 'now'
  const size = Math.abs(seconds)
  const coarse = size < 60 ? size : size < 3600 ? size - (size % 60) : size - (size % 3600)
  const text = size >= 86_400 ? `${Math.floor(size / 86_400)} d` : formatDuration(coarse)
  return seconds < 0 ? `${text} ago` : `in ${text}`
}

/** A time to the second, in the time zone of the user. */
export const formatExactTime = (at: number): string => dateTimeFormat.format(at)

/** `half_open` as `half open`. */
export const formatName = (name: string): string => name.replaceAll('_', ' ')

/** A value on one line. */
export const formatInline = (value: unknown): string =>
  value === undefined || value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)
