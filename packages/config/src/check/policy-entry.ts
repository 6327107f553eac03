import { formatPath, formatValue, type Problem } from '../problem.js'
import { policyEntrySchema } from '../schema/policy.js'
import { type PolicyEntry, policyEntryCodec } from '../schema/schema.js'
import { expectedValue, type KeyStyle, walkPath } from '../schema/walk.js'
import { normalize } from './normalize.js'

/** Fields that records carry and configs do not. */
const RECORD_ONLY_FIELDS = new Set(['schema'])

/** Some fields of a policy that came from outside, each checked by itself. What is wrong is added to `problems`. */
export function parsePolicyEntry(input: object, spelling: KeyStyle, problems: Problem[]): PolicyEntry {
  const fields = Object.fromEntries(Object.entries(input).filter(([key]) => !RECORD_ONLY_FIELDS.has(key)))
  const wire = normalize(policyEntrySchema, fields, [], {
    spelling,
    rootName: 'a policy',
    // Variables are the file's: a policy from outside must not read the environment.
    interpolate: (_schema, value) => value,
    onProblem: (path, message) => problems.push({ path: formatPath(path), message }),
  })
  const result = policyEntryCodec.safeDecode(wire)
  if (result.success) return result.data
  for (const issue of result.error.issues) {
    const { path, schema } = walkPath(policyEntrySchema, issue.path.map(String), spelling)
    const written = path.reduce<unknown>(
      (value, step) => (Object(value) as Record<string, unknown>)[step],
      fields,
    )
    problems.push({
      path: formatPath(path),
      message: `got ${formatValue(written)}, takes ${expectedValue(schema, spelling)}`,
    })
  }
  return {}
}
