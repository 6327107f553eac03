import type { Classification, ErrorLike } from './classification.js'
import { byCode } from './error-codes.js'

/** What the code and the labels of an error of MongoDB's driver say; undefined where the error is another or says nothing. */
export function byMongo({ name, code, errorLabels }: ErrorLike): Classification | undefined {
  if (!`${name}`.startsWith('Mongo')) return undefined
  // A duplicate key stays one whatever the labels say.
  const words: unknown[] = [code, ...(Array.isArray(errorLabels) ? errorLabels : [])]
  return words.map((word) => byCode(`mongo:${word}`)).find((found) => found !== undefined)
}
