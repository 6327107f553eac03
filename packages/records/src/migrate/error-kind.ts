import { type Classification, classify, type Kind } from 'holdfast'
import { compileMatchers, KINDS } from 'holdfast/internal'

/** An error without fields, so that a matcher can match only by kind. */
const EMPTY_ERROR: unknown = Object.freeze(Object.create(null))

/** The kind of an error that was recorded only as a class name and a response status. */
export function parseErrorKind(type: unknown, status: unknown): Kind {
  if (typeof status === 'number' && status >= 400) return classify({ status }).kind
  if (typeof type !== 'string') return 'unknown'
  const matches = compileMatchers([type])
  const category = '' as Classification['category']
  return KINDS.find((kind) => matches(EMPTY_ERROR, { category, kind })) ?? classify({ name: type }).kind
}
