import type { Classification, ErrorLike } from './classification.js'
import { byCode } from './error-codes.js'

/** Classifies an error of MongoDB's driver by its code and labels; undefined where they are unknown or the error is another. */
export function byMongo({ name, code, errorLabels }: ErrorLike): Classification | undefined {
  if (!`${name}`.startsWith('Mongo')) return undefined
  // The code comes first, so that a duplicate key is permanent regardless of the labels.
  const codes: unknown[] = [code, ...(Array.isArray(errorLabels) ? errorLabels : [])]
  return codes.map((entry) => byCode(`mongo:${entry}`)).find((found) => found !== undefined)
}
