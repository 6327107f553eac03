import { prepare } from './prepare.js'
import { type Problem, pathText, show } from './problem.js'
import { policyEntrySchema } from './schema/policy.js'
import { type PolicyEntry, policyEntryCodec } from './schema/schema.js'
import { follow, type Spelling, takesOf } from './schema/walk.js'

/** Fields that records carry and configs do not. */
const OF_RECORDS = new Set(['schema'])

/** Some fields of a policy that came from outside, each checked by itself. What is wrong is added to `problems`. */
export function readEntry(given: object, spelling: Spelling, problems: Problem[]): PolicyEntry {
  const own = Object.fromEntries(Object.entries(given).filter(([key]) => !OF_RECORDS.has(key)))
  const wire = prepare(policyEntrySchema, own, [], {
    spelling,
    whole: 'a policy',
    // Variables are the file's: a policy from outside must not read the environment.
    interpolate: (_schema, value) => value,
    problem: (path, message) => problems.push({ path: pathText(path), message }),
  })
  const result = policyEntryCodec.safeDecode(wire)
  if (result.success) return result.data
  for (const issue of result.error.issues) {
    const { path, schema } = follow(policyEntrySchema, issue.path.map(String), spelling)
    const written = path.reduce<unknown>(
      (value, step) => (Object(value) as Record<string, unknown>)[step],
      own,
    )
    problems.push({
      path: pathText(path),
      message: `got ${show(written)}, takes ${takesOf(schema, spelling)}`,
    })
  }
  return {}
}
