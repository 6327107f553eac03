import type { Mapping } from '../mapping.js'

/** The names of policy fields in old settings. They are compared without case, `_` and `-`. */
const POLICY_ALIASES: { readonly [field: string]: readonly string[] } = {
  max_attempts: ['max_attempts', 'attempts', 'tries', 'max_tries', 'total_attempts'],
  retries: [
    'max_retries',
    'retries',
    'retry_count',
    'max_retry',
    'retry_limit',
    'num_retries',
    'max_retry_attempts',
  ],
  backoff: ['backoff'],
  backoff_type: ['backoff_type', 'backoff_strategy', 'strategy', 'backoff_policy'],
  base_delay: [
    'base_delay',
    'delay',
    'initial_delay',
    'retry_delay',
    'initial_backoff',
    'initial_interval',
    'retry_interval',
    'wait',
    'interval',
    'backoff_delay',
  ],
  backoff_min: ['backoff_min', 'min_backoff', 'wait_min', 'min_delay'],
  multiplier: ['multiplier', 'factor', 'backoff_factor', 'exponential_base'],
  backoff_multiplier: ['backoff_multiplier'],
  max_delay: [
    'max_delay',
    'max_backoff',
    'max_backoff_delay',
    'backoff_max',
    'max_interval',
    'max_wait',
    'wait_max',
    'max_retry_delay',
  ],
  jitter: ['jitter', 'use_jitter'],
  jitter_type: ['jitter_type'],
  jitter_amount: ['jitter_amount', 'jitter_factor', 'jitter_ratio'],
  jitter_min: ['jitter_min'],
  jitter_max: ['jitter_max'],
  timeout: ['timeout', 'request_timeout'],
  attempt_timeout: ['attempt_timeout', 'timeout_per_attempt'],
  total_timeout: ['total_timeout', 'max_duration', 'deadline', 'max_elapsed_time', 'stop_after_delay'],
  retryable_exceptions: [
    'retryable_exceptions',
    'retry_on',
    'exceptions',
    'retryable_errors',
    'retry_exceptions',
  ],
  abort_exceptions: ['abort_exceptions', 'abort_on', 'non_retryable_exceptions', 'give_up_on'],
  retry_status_codes: [
    'retry_status_codes',
    'status_codes',
    'status_forcelist',
    'retry_on_status',
    'retryable_status_codes',
  ],
  respect_retry_after: ['respect_retry_after', 'honor_retry_after'],
  max_retry_after: ['max_retry_after'],
  retry_non_idempotent: ['retry_non_idempotent'],
  enabled: ['enabled'],
  id: ['id', 'policy_id'],
  name: ['name'],
  description: ['description'],
  enable_circuit_breaker: ['enable_circuit_breaker', 'circuit_breaker_enabled', 'use_circuit_breaker'],
  circuit_breaker_threshold: ['circuit_breaker_threshold', 'breaker_threshold'],
  circuit_breaker_timeout: ['circuit_breaker_timeout', 'breaker_timeout'],
  circuit_breaker: ['circuit_breaker', 'breaker'],
  dead_letter: ['dead_letter'],
  shadow: ['shadow'],
  bulkhead: ['bulkhead'],
  hedge: ['hedge'],
  budget: ['budget'],
}

/** The names of breaker fields in old settings. */
const BREAKER_ALIASES: { readonly [field: string]: readonly string[] } = {
  failure_threshold: ['failure_threshold', 'threshold', 'max_failures', 'fail_max'],
  success_threshold: ['success_threshold'],
  window_type: ['window_type'],
  window_duration: ['window_duration', 'window', 'window_seconds'],
  timeout_duration: [
    'timeout_duration',
    'timeout',
    'reset_timeout',
    'recovery_timeout',
    'open_timeout',
    'cooldown',
  ],
  timeout_multiplier: ['timeout_multiplier'],
  max_timeout_duration: ['max_timeout_duration'],
  failure_rate: ['failure_rate', 'failure_ratio'],
  minimum_calls: ['minimum_calls', 'request_volume_threshold'],
  slow_call_duration: ['slow_call_duration'],
  slow_call_rate: ['slow_call_rate'],
  half_open_max: ['half_open_max', 'half_open_max_calls'],
  probe_lease: ['probe_lease'],
  adaptive: ['adaptive'],
  persist_state: ['persist_state'],
  enabled: ['enabled'],
  name: ['service_name', 'proxy_id', 'policy_id', 'name'],
}

/** Fields of a breaker's state. They are not settings, so ignoring them loses nothing. */
export const BREAKER_STATE_FIELDS = new Set(
  [
    'state',
    'failure_count',
    'success_count',
    'failure_window',
    'next_test_time',
    'last_state_change',
    'last_failure_time',
    'open_timestamp',
  ].map(normalizeKey),
)

export type DurationUnit = 'ms' | 's' | 'm' | undefined

/** Normalizes a key: lower case without `_` and `-`. */
export function normalizeKey(word: string): string {
  return word.toLowerCase().replace(/[^a-z0-9]/g, '')
}

const indexAliases = (fields: { readonly [field: string]: readonly string[] }): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(fields).flatMap(([field, words]) => words.map((word) => [normalizeKey(word), field])),
  )

const POLICY_FIELD_BY_ALIAS = indexAliases(POLICY_ALIASES)
const BREAKER_FIELD_BY_ALIAS = indexAliases(BREAKER_ALIASES)

const UNIT_SUFFIXES: readonly (readonly [ending: string, unit: DurationUnit])[] = [
  ['milliseconds', 'ms'],
  ['millis', 'ms'],
  ['ms', 'ms'],
  ['seconds', 's'],
  ['secs', 's'],
  ['sec', 's'],
  ['minutes', 'm'],
]

/** A field, and the unit in the name of its alias. */
export interface FieldAlias {
  readonly field: string
  readonly unit: DurationUnit
}

function findAlias(words: ReadonlyMap<string, string>, key: string): FieldAlias | undefined {
  const word = normalizeKey(key)
  const field = words.get(word)
  if (field !== undefined) return { field, unit: undefined }
  for (const [ending, unit] of UNIT_SUFFIXES) {
    const rest = word.endsWith(ending) ? words.get(word.slice(0, -ending.length)) : undefined
    if (rest !== undefined) return { field: rest, unit }
  }
  return undefined
}

/** The policy field that a key denotes. */
export const policyField = (key: string): FieldAlias | undefined => findAlias(POLICY_FIELD_BY_ALIAS, key)

/** The breaker field that a key denotes. */
export const breakerField = (key: string): FieldAlias | undefined => findAlias(BREAKER_FIELD_BY_ALIAS, key)

/** Fields that only retry settings have: they identify a mapping as such. */
const POLICY_ONLY_FIELDS = new Set([
  'max_attempts',
  'retries',
  'backoff',
  'backoff_type',
  'base_delay',
  'backoff_min',
  'backoff_multiplier',
  'max_delay',
])

export const looksLikePolicy = (value: Mapping): boolean =>
  Object.entries(value).some(([key, held]) => {
    const known = policyField(key)
    return (
      known !== undefined &&
      POLICY_ONLY_FIELDS.has(known.field) &&
      (typeof held !== 'object' || held === null)
    )
  })

export const looksLikeBreaker = (value: Mapping): boolean =>
  Object.keys(value).some((key) => breakerField(key)?.field === 'failure_threshold')
