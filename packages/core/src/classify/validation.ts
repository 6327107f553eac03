import { type Classification, type ErrorLike, isErrorLike } from './classification.js'

/** Whether a value is an issue of zod, valibot or a similar validator. A GraphQL error also has a path, but has locations too. */
const isValidationIssue = (value: unknown): value is ErrorLike & { path: unknown[] | string } =>
  isErrorLike(value) &&
  !(value instanceof Error) &&
  (Array.isArray(value.path) || typeof value.path === 'string') &&
  value.locations === undefined

const formatPathSegment = (segment: unknown): string => String(isErrorLike(segment) ? segment.key : segment)

/** Classifies an error with a list of `issues` or `errors` that have paths; undefined for any other error. */
export function byValidationIssues({ issues, errors }: ErrorLike): Classification | undefined {
  const entries = Array.isArray(issues) ? issues : errors
  if (!Array.isArray(entries)) return undefined
  const validationIssues = entries.filter(isValidationIssue)
  if (validationIssues.length === 0) return undefined
  const paths = validationIssues.map(({ path }) =>
    Array.isArray(path) ? path.map(formatPathSegment).join('.') : path,
  )
  return {
    category: 'permanent',
    kind: 'validation',
    fields: [...new Set(paths)].filter((path) => path !== ''),
  }
}
