import { CONTROL_CHARACTERS } from '@holdfast/records/constants'

/** Formats a value in one line without control characters. */
export function formatInline(value: unknown): string {
  if (value === undefined || value === null) return '–'
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? typeof value)
  return text.replace(CONTROL_CHARACTERS, ' ')
}

/** Formats seconds with a suitable unit. */
export function formatSeconds(seconds: number | null | undefined): string {
  if (seconds === undefined || seconds === null) return '–'
  const size = Math.abs(seconds)
  if (size > 0 && size < 1) return `${Number((seconds * 1000).toPrecision(3))} ms`
  if (size < 120) return `${Number(seconds.toPrecision(4))} s`
  if (size < 7200) return `${Number((seconds / 60).toPrecision(3))} min`
  return size < 172_800
    ? `${Number((seconds / 3600).toPrecision(3))} h`
    : `${Number((seconds / 86_400).toPrecision(3))} d`
}

/** Formats a time relative to now: `3 s ago`, `in 2 min`. */
export function formatRelativeTime(moment: string | null | undefined, now: number): string {
  if (moment === undefined || moment === null) return '–'
  const seconds = Math.round((Date.parse(moment) - now) / 1000)
  if (Number.isNaN(seconds)) return formatInline(moment)
  if (seconds === 0) return 'now'
  return seconds > 0 ? `in ${formatSeconds(seconds)}` : `${formatSeconds(-seconds)} ago`
}

const COLOUR_CODES = { red: 31, green: 32, yellow: 33, cyan: 36, grey: 90, bold: 1 } as const

/** Creates a function that colours a text, unless colours are disabled. */
export const createPainter =
  (hasColours: boolean) =>
  (colour: keyof typeof COLOUR_CODES, text: string): string =>
    hasColours ? `\u001b[${COLOUR_CODES[colour]}m${text}\u001b[0m` : text

/** The colours of states. */
export const COLOUR_BY_STATE: Record<string, keyof typeof COLOUR_CODES> = {
  closed: 'green',
  open: 'red',
  half_open: 'yellow',
  pending: 'yellow',
  replaying: 'cyan',
  completed: 'green',
  failed: 'red',
  true: 'green',
  false: 'red',
}
