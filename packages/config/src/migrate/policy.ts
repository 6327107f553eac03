import { POLICY_FIELDS, type PolicyFieldKind, tidySeconds } from '@holdfast/records'
import type { Mapping } from '../mapping.js'
import { breakerEntrySchema } from '../schema/breaker.js'
import {
  BREAKER_STATE_FIELDS,
  breakerField,
  type DurationUnit,
  type FieldAlias,
  normalizeKey,
  policyField,
} from './field-aliases.js'

type MigratedFields = Record<string, unknown>

/** Reports a note about a key for a review. */
export type ReportField = (key: string, message: string) => void

/** The kinds of policy fields that are durations. */
const DURATION_KINDS: readonly (PolicyFieldKind | undefined)[] = ['duration', 'positiveDuration', 'timeout']

/** The fields of policies and breakers that are durations. The first two are only in old settings. */
const DURATION_FIELDS = new Set([
  'backoff_min',
  'timeout',
  ...Object.entries(POLICY_FIELDS as { readonly [field: string]: { readonly kind?: PolicyFieldKind } })
    .filter(([, { kind }]) => DURATION_KINDS.includes(kind))
    .map(([field]) => field),
  // In a file, only a duration can have a unit.
  ...Object.entries(breakerEntrySchema.shape)
    .filter(([, schema]) => schema.safeParse('1s').success)
    .map(([field]) => field),
])

/** A number without a unit counts as milliseconds from this value on, because so many seconds are implausible. */
const MILLISECONDS_ABOVE = { delay: 100, timeout: 1000 }

/** Converts a duration of old settings to seconds. */
function toSeconds(key: string, { field, unit }: FieldAlias, value: unknown, report: ReportField): unknown {
  if (typeof value === 'string') {
    const [, amount, word] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/.exec(value.trim()) ?? []
    if (amount === undefined) return value
    return word === undefined ? toSeconds(key, { field, unit }, Number(amount), report) : `${amount}${word}`
  }
  if (typeof value !== 'number') return value
  if (unit !== undefined) return tidySeconds(value * SECONDS_PER_UNIT[unit])
  const isTimeout = /timeout|duration|after|lease/.test(field)
  if (value < (isTimeout ? MILLISECONDS_ABOVE.timeout : MILLISECONDS_ABOVE.delay)) return value
  report(key, `${value} has no unit and was read as milliseconds`)
  return tidySeconds(value / 1000)
}

const SECONDS_PER_UNIT: { readonly [unit in NonNullable<DurationUnit>]: number } = { ms: 0.001, s: 1, m: 60 }

const BACKOFF_ALIASES: { readonly [word: string]: string } = {
  exponential: 'exponential',
  exp: 'exponential',
  linear: 'linear',
  fixed: 'fixed',
  constant: 'fixed',
  immediate: 'immediate',
  none: 'immediate',
  fibonacci: 'fibonacci',
}

/** Creates a policy from old settings. Settings without an equivalent are reported and ignored. */
export function migratePolicy(
  old: Mapping,
  report: ReportField,
): { policy: MigratedFields; breaker?: Mapping } {
  const policy: MigratedFields = {}
  let breaker: Mapping | undefined
  const values: MigratedFields = {}
  const keys: Record<string, string> = {}
  for (const [key, value] of Object.entries(old)) {
    const alias = policyField(key)
    if (alias === undefined) {
      report(key, 'unknown setting, which was ignored')
      continue
    }
    if (alias.field in values) report(key, `means the same as ${keys[alias.field]}, which was used instead`)
    else {
      values[alias.field] = DURATION_FIELDS.has(alias.field) ? toSeconds(key, alias, value, report) : value
      keys[alias.field] = key
    }
  }
  const { retries, backoff, backoff_min, backoff_multiplier, jitter, timeout, circuit_breaker, ...same } =
    values
  Object.assign(policy, same)
  if (retries !== undefined && policy.max_attempts === undefined)
    policy.max_attempts = toAttempts(retries, keys.retries ?? '', report)
  const backoffType = values.backoff_type ?? (typeof backoff === 'string' ? backoff : undefined)
  if (backoffType !== undefined)
    policy.backoff_type =
      (typeof backoffType === 'string' ? BACKOFF_ALIASES[normalizeKey(backoffType)] : undefined) ??
      backoffType
  if (typeof backoff === 'number' && policy.base_delay === undefined)
    policy.base_delay = toSeconds(
      keys.backoff ?? '',
      { field: 'base_delay', unit: undefined },
      backoff,
      report,
    )
  // In settings with a minimum delay the multiplier scales the first delay; elsewhere it is the growth factor.
  if (backoff_min !== undefined) {
    const scale = typeof backoff_multiplier === 'number' ? backoff_multiplier : 0
    if (policy.base_delay === undefined)
      policy.base_delay = typeof backoff_min === 'number' ? Math.max(backoff_min, scale) : backoff_min
    if (policy.jitter_max !== undefined && policy.jitter_type === undefined) policy.jitter_type = 'additive'
  } else if (backoff_multiplier !== undefined && policy.multiplier === undefined)
    policy.multiplier = backoff_multiplier
  applyJitter(policy, jitter, keys.jitter ?? '', report)
  if (timeout !== undefined) {
    // In settings of proxy requests the timeout is that of the whole request.
    const whole = 'backoffstrategy' in normalizedKeys(old) || 'maxbackoffdelay' in normalizedKeys(old)
    policy[whole ? 'total_timeout' : 'attempt_timeout'] ??= timeout
  }
  if (typeof circuit_breaker === 'object' && circuit_breaker !== null) breaker = circuit_breaker as Mapping
  else if (typeof circuit_breaker === 'boolean') policy.enable_circuit_breaker ??= circuit_breaker
  else if (circuit_breaker !== undefined) policy.circuit_breaker = circuit_breaker
  return breaker === undefined ? { policy } : { policy, breaker }
}

/** Converts a number of retries to a number of attempts. The only valid negative number is -1, which means no limit. */
function toAttempts(retries: unknown, key: string, report: ReportField): unknown {
  if (typeof retries !== 'number' || retries >= 0) return typeof retries === 'number' ? retries + 1 : retries
  if (retries === -1) {
    report(key, '-1 was read as no limit')
    return Number.POSITIVE_INFINITY
  }
  report(key, `expected a number from 0, or -1 for no limit, got ${retries}`)
  return retries
}

const normalizedKeys = (value: Mapping): object =>
  Object.fromEntries(Object.keys(value).map((key) => [normalizeKey(key), true]))

/** Converts the jitter of old settings: a boolean, a fraction, a duration or a name. */
function applyJitter(policy: MigratedFields, jitter: unknown, key: string, report: ReportField): void {
  if (jitter === undefined) return
  if (typeof jitter === 'boolean') {
    policy.jitter_type ??= jitter ? 'proportional' : 'none'
    if (jitter) policy.jitter_amount ??= 0.5
  } else if (typeof jitter === 'string') policy.jitter_type ??= jitter
  else if (typeof jitter === 'number' && jitter <= 1) {
    policy.jitter_type ??= jitter === 0 ? 'none' : 'full'
    policy.jitter_amount ??= jitter
  } else if (typeof jitter === 'number') {
    policy.jitter_type ??= 'additive'
    policy.jitter_max ??= toSeconds(
      key,
      { field: 'jitter_max', unit: jitter > 10 ? 'ms' : undefined },
      jitter,
      report,
    )
  }
}

/** Creates a breaker from old settings. */
export function migrateBreaker(
  old: Mapping,
  report: ReportField,
): { name?: string; enabled: boolean; breaker: MigratedFields } {
  const breaker: MigratedFields = {}
  let name: string | undefined
  let isEnabled = true
  for (const [key, value] of Object.entries(old)) {
    if (BREAKER_STATE_FIELDS.has(normalizeKey(key))) continue
    const alias = breakerField(key)
    if (alias === undefined) report(key, 'unknown breaker setting, which was ignored')
    else if (alias.field === 'name') name ??= String(value)
    else if (alias.field === 'enabled') isEnabled = value !== false
    else
      breaker[alias.field] = DURATION_FIELDS.has(alias.field) ? toSeconds(key, alias, value, report) : value
  }
  return { ...(name !== undefined && { name }), enabled: isEnabled, breaker }
}
