import { formatPath, formatValue } from '../problems/format-value.js'
import { type ConfigProblem, mismatch } from '../problems/problem.js'
import { policyEntrySchema } from '../schema/policy.js'
import { type PolicyEntry, policyEntryCodec } from '../schema/schema.js'
import { expectedValue, type KeyStyle, walkPath } from '../schema/walk.js'
import { normalize } from './normalize.js'

/** Fields of records that configs do not have. */
const RECORD_ONLY_FIELDS = new Set(['schema'])

/** Checks the fields of a policy that does not come from the file. Problems are added to `problems`. */
export function parsePolicyEntry(input: object, spelling: KeyStyle, problems: ConfigProblem[]): PolicyEntry {
  const fields = Object.fromEntries(Object.entries(input).filter(([key]) => !RECORD_ONLY_FIELDS.has(key)))
  const wire = normalize(policyEntrySchema, fields, [], {
    spelling,
    rootName: 'a policy',
    // Only the file may use variables: a policy from outside must not read the environment.
    interpolate: (_schema, value) => value,
    onProblem: (path, facts) => problems.push({ ...facts, path: formatPath(path), spelling }),
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
      ...mismatch(expectedValue(schema, spelling), formatValue(written)),
      path: formatPath(path),
      spelling,
    })
  }
  return {}
}
