/**
 * Parses stored rows and skips those that are damaged, so that all others can be read: the parser throws or returns undefined.
 * The error of a parser is not reported, because it quotes the text of the row, which may be secret.
 */
export const readableRows = <R, T>(
  rows: readonly R[],
  parse: (row: R) => T | undefined,
  onDamaged: (row: R) => void = () => {},
): T[] =>
  rows.flatMap((row) => {
    const parsed = parseOrUndefined(row, parse)
    if (parsed === undefined) onDamaged(row)
    return parsed === undefined ? [] : [parsed]
  })

/** Parses a stored row; undefined if it is damaged. */
export function parseOrUndefined<R, T>(row: R, parse: (row: R) => T): T | undefined {
  try {
    return parse(row)
  } catch {
    return undefined
  }
}
