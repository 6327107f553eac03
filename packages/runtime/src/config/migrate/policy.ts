import { tidySeconds } from '../../codec/leaf.js'
import { BREAKER_STATE, breakerField, type Known, plain, policyField, type Unit } from './words.js'

type Mapping = { readonly [key: string]: unknown }
type Wire = Record<string, unknown>

/** Tells of something at a key that a person should look at. */
export type Tell = (key: string, message: string) => void

/** Fields that are durations. */
const DURATIONS = new Set([
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
const MILLISECONDS_FROM = { delay: 100, timeout: 1000 }

/** Seconds of a duration as old settings write it. */
function seconds(key: string, { field, unit }: Known, value: unknown, tell: Tell): unknown {
  if (typeof value === 'string') {
    const [, amount, word] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/.exec(value.trim()) ?? []
    if (amount === undefined) return value
    return word === undefined ? seconds(key, { field, unit }, Number(amount), tell) : `${amount}${word}`
  }
  if (typeof value !== 'number') return value
  if (unit !== undefined) return tidySeconds(value * FACTORS[unit])
  const isTimeout = /timeout|duration|after|lease/.test(field)
  if (value < (isTimeout ? MILLISECONDS_FROM.timeout : MILLISECONDS_FROM.delay)) return value
  tell(key, `${value} has no unit and was taken for milliseconds`)
  return tidySeconds(value / 1000)
}

const FACTORS: { readonly [unit in NonNullable<Unit>]: number } = { ms: 0.001, s: 1, m: 60 }

const BACKOFFS: { readonly [word: string]: string } = {
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
export function toPolicy(old: Mapping, tell: Tell): { policy: Wire; breaker?: Mapping } {
  const policy: Wire = {}
  let breaker: Mapping | undefined
  const said: Wire = {}
  const keys: Record<string, string> = {}
  for (const [key, value] of Object.entries(old)) {
    const known = policyField(key)
    if (known === undefined) {
      tell(key, 'is no setting that is known, and was left out')
      continue
    }
    if (known.field in said) tell(key, `says the same as ${keys[known.field]}, which was used`)
    else {
      said[known.field] = DURATIONS.has(known.field) ? seconds(key, known, value, tell) : value
      keys[known.field] = key
    }
  }
  const { retries, backoff, backoff_min, backoff_multiplier, jitter, timeout, circuit_breaker, ...same } =
    said
  Object.assign(policy, same)
  if (retries !== undefined && policy.max_attempts === undefined)
    policy.max_attempts = attemptsOf(retries, keys.retries ?? '', tell)
  const shape = said.backoff_type ?? (typeof backoff === 'string' ? backoff : undefined)
  if (shape !== undefined)
    policy.backoff_type = (typeof shape === 'string' ? BACKOFFS[plain(shape)] : undefined) ?? shape
  if (typeof backoff === 'number' && policy.base_delay === undefined)
    policy.base_delay = seconds(keys.backoff ?? '', { field: 'base_delay', unit: undefined }, backoff, tell)
  // Of settings with a floor the multiplier scales the first wait; elsewhere it is the growth.
  if (backoff_min !== undefined) {
    const scale = typeof backoff_multiplier === 'number' ? backoff_multiplier : 0
    if (policy.base_delay === undefined)
      policy.base_delay = typeof backoff_min === 'number' ? Math.max(backoff_min, scale) : backoff_min
    if (policy.jitter_max !== undefined && policy.jitter_type === undefined) policy.jitter_type = 'additive'
  } else if (backoff_multiplier !== undefined && policy.multiplier === undefined)
    policy.multiplier = backoff_multiplier
  withJitter(policy, jitter, keys.jitter ?? '', tell)
  if (timeout !== undefined) {
    // Where the settings are those of a proxy's requests, the time is that of the whole request.
    const whole = 'backoffstrategy' in plainKeys(old) || 'maxbackoffdelay' in plainKeys(old)
    policy[whole ? 'total_timeout' : 'attempt_timeout'] ??= timeout
  }
  if (typeof circuit_breaker === 'object' && circuit_breaker !== null) breaker = circuit_breaker as Mapping
  else if (typeof circuit_breaker === 'boolean') policy.enable_circuit_breaker ??= circuit_breaker
  else if (circuit_breaker !== undefined) policy.circuit_breaker = circuit_breaker
  return breaker === undefined ? { policy } : { policy, breaker }
}

/** How many attempts so many retries are. A negative number of them is not made sense of, but for the one that means no limit. */
function attemptsOf(retries: unknown, key: string, tell: Tell): unknown {
  if (typeof retries !== 'number' || retries >= 0) return typeof retries === 'number' ? retries + 1 : retries
  if (retries === -1) {
    tell(key, '-1 was taken for no limit')
    return Number.POSITIVE_INFINITY
  }
  tell(key, `got ${retries}, takes a number from 0, or -1 for no limit`)
  return retries
}

const plainKeys = (value: Mapping): object =>
  Object.fromEntries(Object.keys(value).map((key) => [plain(key), true]))

/** Jitter was a switch, a share, a time or a word. */
function withJitter(policy: Wire, jitter: unknown, key: string, tell: Tell): void {
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
    policy.jitter_max ??= seconds(
      key,
      { field: 'jitter_max', unit: jitter > 10 ? 'ms' : undefined },
      jitter,
      tell,
    )
  }
}

/** A breaker of today's words, made of old settings. */
export function toBreaker(old: Mapping, tell: Tell): { name?: string; enabled: boolean; breaker: Wire } {
  const breaker: Wire = {}
  let name: string | undefined
  let enabled = true
  for (const [key, value] of Object.entries(old)) {
    if (BREAKER_STATE.has(plain(key))) continue
    const known = breakerField(key)
    if (known === undefined) tell(key, 'is no setting of a breaker that is known, and was left out')
    else if (known.field === 'name') name ??= String(value)
    else if (known.field === 'enabled') enabled = value !== false
    else breaker[known.field] = DURATIONS.has(known.field) ? seconds(key, known, value, tell) : value
  }
  return { ...(name !== undefined && { name }), enabled, breaker }
}
