/** Removes zeros at the end of a fraction. */
const trimZeros = (digits: string): string => (digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits)

/** How many digits a number of Lua has as text, and in JSON. */
const DIGITS = 14

/** Whether a number is an integer whose text has all of its digits. */
const isShortInteger = (value: number): boolean => Number.isInteger(value) && Math.abs(value) < 10 ** DIGITS

/**
 * Rounds to the digits of a number in Lua. JavaScript rounds a value in the middle between two texts up, and C to the even digit.
 */
function roundDigits(value: number): number {
  if (Number.isInteger(value) || !Number.isFinite(value)) return value
  // A value in the middle has exactly one digit more, which is 5.
  if (!/5(e.*)?$/.test(value.toPrecision(DIGITS + 1))) return value
  // oxlint-disable-next-line oxc/number-arg-out-of-range -- up to 100 digits since ECMAScript 2018; all digits of a value with a middle
  const [exact = '', exponent] = value.toExponential(60).split('e')
  const end = exact.indexOf('.') + DIGITS
  const isMiddle = /^50*$/.test(exact.slice(end))
  const isEven = Number(exact[end - 1]) % 2 === 0
  return isMiddle && isEven ? Number(`${exact.slice(0, end)}e${exponent}`) : value
}

/** The text of a number in Lua 5.1: the format `%.14g`. */
export function luaText(value: number): string {
  if (isShortInteger(value)) return String(value)
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf'
  const rounded = roundDigits(value)
  const size = Math.abs(value)
  const text = size !== 0 && size < 1e-4 ? rounded.toExponential(DIGITS - 1) : rounded.toPrecision(DIGITS)
  const [digits = '', exponent] = text.split('e')
  if (exponent === undefined) return trimZeros(digits)
  const sign = exponent.startsWith('-') ? '-' : '+'
  return `${trimZeros(digits)}e${sign}${exponent.replace(/^[+-]/, '').padStart(2, '0')}`
}

const SPECIAL_NUMBERS = new Map([
  ['inf', Number.POSITIVE_INFINITY],
  ['infinity', Number.POSITIVE_INFINITY],
  ['nan', Number.NaN],
])

/** `tonumber` of Lua 5.1; undefined for nil. It accepts what C's `strtod` accepts, with white space around it. */
export function luaNumber(value: string | number | null | undefined): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return undefined
  if (/^\d+$/.test(value)) return Number(value)
  const [, sign = '', text = ''] = /^\s*([+-]?)(.*?)\s*$/s.exec(value) ?? []
  const special = SPECIAL_NUMBERS.get(text.toLowerCase())
  const isNumber = /^(0x[0-9a-f]+|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)$/i.test(text)
  const number = special ?? (isNumber ? Number(text) : undefined)
  return number === undefined ? undefined : sign === '-' ? -number : number
}

/** A Lua table without nested tables. */
export type LuaTable = Readonly<Record<string, string | number | boolean>>

/** The JSON text of a table, whose numbers have 14 digits as in cjson. */
export function luaJson(table: LuaTable): string {
  const rounded: Record<string, string | number | boolean> = {}
  for (const [key, value] of Object.entries(table))
    rounded[key] =
      typeof value === 'number' && !isShortInteger(value)
        ? Number(roundDigits(value).toPrecision(DIGITS))
        : value
  return JSON.stringify(rounded)
}
