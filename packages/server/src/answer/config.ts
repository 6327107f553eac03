import { type Configuration, type Explanation, policyCodec, type RetryPolicy } from '@holdfast/runtime'
import { fileSpelling } from './spelling.js'

const HIDDEN = '[redacted]'

/** Keys whose values open something. */
const SECRET = new Set(['password', 'secret', 'encryption_key'])

const withoutCredentials = (text: string): string =>
  text.replace(/([a-z][a-z\d+.-]*:\/\/)[^\s/?#]*@/gi, `$1${HIDDEN}@`)

function hide(value: unknown): unknown {
  if (typeof value === 'string') return withoutCredentials(value)
  if (Array.isArray(value)) return value.map(hide)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => [key, SECRET.has(key) && held != null ? HIDDEN : hide(held)]),
  )
}

/** The configuration as a file would say it: with the changes made through the API, without its secrets. */
export function configWire({ current, layer }: Pick<Configuration, 'current' | 'layer'>): object {
  const wire = fileSpelling(current) as { policies?: Record<string, object> }
  const policies: Record<string, object> = { ...wire.policies }
  for (const [id, change] of Object.entries(layer.policies ?? {}))
    if (change === null) delete policies[id]
    else policies[id] = { ...policies[id], ...change }
  return hide({ ...wire, ...(Object.keys(policies).length === 0 ? {} : { policies }) }) as object
}

const seconds = (ms: number): number => ms / 1000

const wait = ({ base, min, max }: { base: number; min: number; max: number }) => ({
  base: seconds(base),
  min: seconds(min),
  max: seconds(max),
})

/** A field of a policy as the wire spells it. */
const field = (name: string, value: unknown): [string, unknown] =>
  Object.entries(policyCodec.encode({ [name]: value } as unknown as RetryPolicy))[0] as [string, unknown]

/** What applies to an operation, as the wire spells it: durations in seconds. */
export function explanationWire(explained: Explanation): object {
  const { operation, subsystem, enabled, policies, notes } = explained
  return {
    operation,
    ...(subsystem === undefined ? {} : { subsystem }),
    enabled,
    policies: policies.map(({ kind, policyId, enabled: on, values, schedule, breaker }) => ({
      kind,
      policy_id: policyId,
      enabled: on,
      values: Object.fromEntries(
        Object.entries(values).map(([name, { value, ...origin }]) => {
          const [key, wire] = field(name, value)
          return [key, { value: wire, ...origin }]
        }),
      ),
      schedule: {
        waits: schedule.waits.map(({ attempt, ...rest }) => ({ attempt, ...wait(rest) })),
        total: wait(schedule.total),
        more: schedule.more,
      },
      ...(breaker === undefined ? {} : { breaker }),
    })),
    notes,
  }
}
