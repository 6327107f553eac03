import { type Bag, type Classification, isBag } from './verdict.js'

/** One complaint of zod, valibot and their like. A GraphQL error also has a path, but it has locations too. */
const isIssue = (value: unknown): value is Bag & { path: unknown[] | string } =>
  isBag(value) &&
  !(value instanceof Error) &&
  (Array.isArray(value.path) || typeof value.path === 'string') &&
  value.locations === undefined

const step = (part: unknown): string => String(isBag(part) ? part.key : part)

/** What an error with a list of `issues` or `errors` that have paths says. */
export function byIssues({ issues, errors }: Bag): Classification | undefined {
  const list = Array.isArray(issues) ? issues : errors
  if (!Array.isArray(list)) return undefined
  const found = list.filter(isIssue)
  if (found.length === 0) return undefined
  const paths = found.map(({ path }) => (Array.isArray(path) ? path.map(step).join('.') : path))
  return {
    category: 'permanent',
    kind: 'validation',
    fields: [...new Set(paths)].filter((path) => path !== ''),
  }
}
