import { tidySeconds } from '@holdfast/records'
import {
  BREAKER_STATE_FIELDS,
  breakerField,
  type DurationUnit,
  type FieldAlias,
  normalizeKey,
  policyField,
} from './field-aliases.js'

type Mapping = { readonly [key: string]: unknown }
type MigratedFields = Record<string, unknown>

/** Tells of something at a key that a person should look at. */
export type ReportField = (key: string, message: string) => void

/** Fields that are durations. */
const DURATION_FIELDS = new Set([
  'base_delay',
  'max_delay',
  'backoff_min',
  'jitter_min',
  'jitter_max',
  'timeout',
  'attempt_timeout',
  'total_timeout',
  'max_retry_after',
  'circuit_breaker_timeout',
  'window_duration',
  'timeout_duration',
  'max_timeout_duration',
  'slow_call_duration',
  'probe_lease',
])

/** A number without a unit at or above this is taken for milliseconds: nobody waits so many seconds. */
const MILLISECONDS_ABOVE = { delay: 100, timeout: 1000 }

/** Seconds of a duration as old settings write it. */
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
  report(key, `${value} has no unit and was taken for milliseconds`)
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

/** A policy of today's words, made of old settings. What cannot be said is told of and left out. */
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
      report(key, 'is no setting that is known, and was left out')
      continue
    }
    if (alias.field in values) report(key, `says the same as ${keys[alias.field]}, which was used`)
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
  // Of settings with a floor the multiplier scales the first wait; elsewhere it is the growth.
  if (backoff_min !== undefined) {
    const scale = typeof backoff_multiplier === 'number' ? backoff_multiplier : 0
    if (policy.base_delay === undefined)
      policy.base_delay = typeof backoff_min === 'number' ? Math.max(backoff_min, scale) : backoff_min
    if (policy.jitter_max !== undefined && policy.jitter_type === undefined) policy.jitter_type = 'additive'
  } else if (backoff_multiplier !== undefined && policy.multiplier === undefined)
    policy.multiplier = backoff_multiplier
  applyJitter(policy, jitter, keys.jitter ?? '', report)
  if (timeout !== undefined) {
    // Where the settings are those of a proxy's requests, the time is that of the whole request.
    const whole = 'backoffstrategy' in normalizedKeys(old) || 'maxbackoffdelay' in normalizedKeys(old)
    policy[whole ? 'total_timeout' : 'attempt_timeout'] ??= timeout
  }
  if (typeof circuit_breaker === 'object' && circuit_breaker !== null) breaker = circuit_breaker as Mapping
  else if (typeof circuit_breaker === 'boolean') policy.enable_circuit_breaker ??= circuit_breaker
  else if (circuit_breaker !== undefined) policy.circuit_breaker = circuit_breaker
  return breaker === undefined ? { policy } : { policy, breaker }
}

/** How many attempts so many retries are. A negative number of them is not made sense of, but for the one that means no limit. */
function toAttempts(retries: unknown, key: string, report: ReportField): unknown {
  if (typeof retries !== 'number' || retries >= 0) return typeof retries === 'number' ? retries + 1 : retries
  if (retries === -1) {
    report(key, '-1 was taken for no limit')
    return Number.POSITIVE_INFINITY
  }
  report(key, `got ${retries}, takes a number from 0, or -1 for no limit`)
  return retries
}

const normalizedKeys = (value: Mapping): object =>
  Object.fromEntries(Object.keys(value).map((key) => [normalizeKey(key), true]))

/** Jitter was a switch, a share, a time or a word. */
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

/** A breaker of today's words, made of old settings. */
export function migrateBreaker(
  old: Mapping,
  report: ReportField,
): { name?: string; enabled: boolean; breaker: MigratedFields } {
  const breaker: MigratedFields = {}
  let name: string | undefined
  let enabled = true
  for (const [key, value] of Object.entries(old)) {
    if (BREAKER_STATE_FIELDS.has(normalizeKey(key))) continue
    const alias = breakerField(key)
    if (alias === undefined) report(key, 'is no setting of a breaker that is known, and was left out')
    else if (alias.field === 'name') name ??= String(value)
    else if (alias.field === 'enabled') enabled = value !== false
    else
      breaker[alias.field] = DURATION_FIELDS.has(alias.field) ? toSeconds(key, alias, value, report) : value
  }
  return { ...(name !== undefined && { name }), enabled, breaker }
}
