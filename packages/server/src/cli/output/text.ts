/** Marks that a terminal obeys, and line breaks: what comes from elsewhere must not be able to draw. */
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g

/** A value in one line, safe to show. */
export function formatInline(value: unknown): string {
  if (value === undefined || value === null) return '–'
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? typeof value)
  return text.replace(CONTROL_CHARACTERS, ' ')
}

/** Seconds as people say them. */
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

/** How long ago a moment was, or how soon it will be. */
export function formatRelativeTime(moment: string | null | undefined, now: number): string {
  if (moment === undefined || moment === null) return '–'
  const seconds = Math.round((Date.parse(moment) - now) / 1000)
  if (Number.isNaN(seconds)) return formatInline(moment)
  if (seconds === 0) return 'now'
  return seconds > 0 ? `in ${formatSeconds(seconds)}` : `${formatSeconds(-seconds)} ago`
}

const COLOUR_CODES = { red: 31, green: 32, yellow: 33, cyan: 36, grey: 90, bold: 1 } as const

/** Gives the word a colour, where there are any. */
export const createPainter =
  (colours: boolean) =>
  (colour: keyof typeof COLOUR_CODES, text: string): string =>
    colours ? `\u001b[${COLOUR_CODES[colour]}m${text}\u001b[0m` : text

/** The colour of each state. */
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
