const integerFormat = new Intl.NumberFormat('en')
const decimalFormat = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** The time zone in which clock times are shown. */
export type Zone = 'utc' | 'local'

const clockFormat = (timeZone?: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-GB', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
    timeZoneName: 'short',
    ...(timeZone === undefined ? {} : { timeZone }),
  })
const clockFormats: Record<Zone, Intl.DateTimeFormat> = { utc: clockFormat('UTC'), local: clockFormat() }

/** A point in time as `2026-11-16`, `14:02:07.123` and `UTC`. */
function clockParts(at: number, zone: Zone): { date: string; time: string; zoneName: string } {
  const part = Object.fromEntries(
    clockFormats[zone].formatToParts(at).map(({ type, value }) => [type, value]),
  )
  return {
    date: `${part['year']}-${part['month']}-${part['day']}`,
    time: `${part['hour']}:${part['minute']}:${part['second']}.${part['fractionalSecond']}`,
    zoneName: part['timeZoneName'] ?? '',
  }
}

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

/** A time with its date: `2026-11-16 14:02:07.123 UTC`. */
export function formatExactTime(at: number, zone: Zone = 'local'): string {
  const { date, time, zoneName } = clockParts(at, zone)
  return `${date} ${time} ${zoneName}`
}

/** The clock time of today as `14:02:07.123 UTC`, of another day with its date. */
export function formatClockTime(at: number, now: number, zone: Zone): string {
  const { date, time, zoneName } = clockParts(at, zone)
  return date === clockParts(now, zone).date ? `${time} ${zoneName}` : `${date} ${time} ${zoneName}`
}

/** A long text with its middle left out, so that the start and the end of an id stay readable. */
export function truncateMiddle(text: string, length: number): string {
  if (text.length <= length) return text
  const start = Math.ceil((length - 1) * 0.6)
  return `${text.slice(0, start)}…${text.slice(text.length - (length - 1 - start))}`
}

/** `half_open` as `half open`. */
export const formatName = (name: string): string => name.replaceAll('_', ' ')

/** A value on one line. */
export const formatInline = (value: unknown): string =>
  value === undefined || value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)
