/** What a column of text does not give back as it was: one driver ends a text at NUL, and half a pair is no UTF-8. */
const AWKWARD = /[\0\\]|\p{Surrogate}/gu

const escaped = (unit: string) =>
  unit === '\\' ? '\\\\' : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A name as a column holds it. Different names stay different, and a name's beginning is its text's beginning. */
export const toColumn = (name: string): string => name.replace(AWKWARD, escaped)

/** The name that a column holds. */
export const fromColumn = (text: string): string =>
  text.replace(/\\(?:\\|u([0-9a-f]{4}))/g, (_, code?: string) =>
    code === undefined ? '\\' : String.fromCharCode(Number.parseInt(code, 16)),
  )
