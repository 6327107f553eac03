import type { z } from 'zod'
import { ApiError } from './api-error.js'
import type { ErrorCode } from './error-codes.js'

/** The part of a request that has a problem. */
export type RequestPart = 'path' | 'query' | 'header' | 'body' | 'request'

/** What is wrong with one field of a request. `in` is absent where the part is not known. */
export interface FieldProblem {
  readonly in?: RequestPart
  readonly path: string
  readonly message: string
}

const formatProblem = ({ path, message }: FieldProblem): string =>
  path === '' ? message : `${path}: ${message}`

/** A 400 that lists every problem: as data in `details`, and as one sentence in its message. */
export function createFieldErrors(
  part: RequestPart,
  problems: readonly FieldProblem[],
  code: ErrorCode = 'BAD_REQUEST',
): ApiError {
  const details = problems.map((problem) => ({ ...problem, in: part }))
  return new ApiError(code, `invalid ${part}: ${problems.map(formatProblem).join('; ')}`, { details })
}

/** A 400 because of a single field. */
export const fieldError = (part: RequestPart, path: string, message: string): ApiError =>
  new ApiError('BAD_REQUEST', formatProblem({ path, message }), { details: [{ in: part, path, message }] })

/** The longest string that is quoted in a message. */
const MAX_QUOTED_LENGTH = 40

/** A value in a few words. */
function formatGot(value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= MAX_QUOTED_LENGTH)
    return JSON.stringify(value)
  if (typeof value === 'string') return value === '' ? 'an empty string' : `${value.length} characters`
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : formatType(value)
}

/** The type of a value. A value of a wrong type is not quoted, because it can be a secret in the wrong place. */
function formatType(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (typeof value === 'number' && !Number.isInteger(value)) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

const withArticle = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`

/** The name of a type as zod has it, in plain words. */
const formatExpectedType = (name: string): string => withArticle(name === 'int' ? 'integer' : name)

type RawIssue = z.core.$ZodRawIssue

/** A message for a rule of a schema that zod has no words for. */
export const expecting =
  (expected: string) =>
  ({ input }: { input?: unknown }): string =>
    `expected ${expected}, got ${formatGot(input)}`

/** The bound that a number, or the length of a string or an array, has to keep. */
function formatBound(
  { origin, inclusive, input }: RawIssue,
  [inclusiveWord, exclusiveWord]: readonly [string, string],
  limit: unknown,
): string {
  const bound = `${inclusive === false ? exclusiveWord : inclusiveWord} ${String(limit)}`
  if (origin === 'number' || origin === 'int')
    return `expected a number ${inclusive === false ? '' : 'of '}${bound}, got ${formatGot(input)}`
  if (input === '') return 'expected a string that is not empty, got an empty string'
  const { length } = input as { length: number }
  return `expected ${bound} ${origin === 'string' ? 'characters' : 'entries'}, got ${length}`
}

/** The wording of each code of zod. The others, such as custom rules, have a message of their schema. */
const FORMATTERS: Readonly<Record<string, (issue: RawIssue) => string | undefined>> = {
  invalid_type: ({ expected, input }) =>
    `expected ${formatExpectedType(expected as string)}, got ${formatType(input)}`,
  invalid_value: ({ values, input }) => {
    const names = (values as unknown[]).map(String)
    return `expected ${names.length > 1 ? 'one of ' : ''}${names.join(', ')}, got ${formatGot(input)}`
  },
  too_small: (issue) => formatBound(issue, ['at least', 'greater than'], issue['minimum']),
  too_big: (issue) => formatBound(issue, ['at most', 'less than'], issue['maximum']),
  unrecognized_keys: ({ keys }) =>
    `unknown field ${(keys as string[]).map((key) => JSON.stringify(key.slice(0, 100))).join(', ')}`,
  // The issues of the first alternative, and of a key of a record, have their messages already.
  invalid_union: ({ errors }) => (errors as z.core.$ZodIssue[][])[0]?.[0]?.message,
  invalid_key: ({ issues }) => (issues as z.core.$ZodIssue[])[0]?.message,
}

/** Words an issue of zod. Messages that a schema gives itself have precedence over these. */
const formatIssue = (issue: RawIssue): string | undefined => FORMATTERS[issue.code ?? '']?.(issue)

/** Parses one part of a request. @throws BAD_REQUEST that lists every field that does not match the schema */
export function parsePart<S extends z.ZodType>(schema: S, value: unknown, part: RequestPart): z.output<S> {
  const result = schema.safeParse(value, { error: formatIssue })
  if (result.success) return result.data
  const problems = result.error.issues.map((issue) => ({
    path: [...issue.path, ...(issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [])].join('.'),
    message: issue.message,
  }))
  throw createFieldErrors(part, problems)
}
