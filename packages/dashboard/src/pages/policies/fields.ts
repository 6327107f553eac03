import type { WirePolicy } from '../../api/types.js'

/** The kind of input of a field. */
type FieldKind = 'text' | 'number' | 'seconds' | 'list' | 'codes' | 'flag' | readonly string[]

/** Fields that are nested objects. */
export const PARTS = ['bulkhead', 'hedge', 'budget'] as const

/** A field of a policy, or of one of its nested objects. */
export type FieldName = keyof WirePolicy | `${(typeof PARTS)[number]}.${string}`

export interface PolicyField {
  readonly name: FieldName
  readonly label: string
  readonly kind: FieldKind
  /** The value of an empty field where the nested object exists. */
  readonly defaultValue?: number
}

export const GROUPS: readonly (readonly [title: string, fields: readonly PolicyField[]])[] = [
  [
    'Retries',
    [
      { name: 'max_attempts', label: 'Max attempts, including the first', kind: 'number' },
      {
        name: 'backoff_type',
        label: 'Backoff',
        kind: ['exponential', 'linear', 'fixed', 'immediate', 'fibonacci'],
      },
      { name: 'base_delay', label: 'Base delay, s', kind: 'seconds' },
      { name: 'multiplier', label: 'Multiplier', kind: 'number' },
      { name: 'max_delay', label: 'Max delay, s', kind: 'seconds' },
    ],
  ],
  [
    'Jitter',
    [
      {
        name: 'jitter_type',
        label: 'Jitter type',
        kind: ['none', 'full', 'equal', 'decorrelated', 'proportional', 'additive'],
      },
      { name: 'jitter_amount', label: 'Jitter amount, 0 to 1', kind: 'number' },
      { name: 'jitter_min', label: 'Min jitter, s (additive)', kind: 'seconds' },
      { name: 'jitter_max', label: 'Max jitter, s (additive)', kind: 'seconds' },
    ],
  ],
  [
    'Timeouts',
    [
      { name: 'attempt_timeout', label: 'Attempt timeout, s', kind: 'seconds' },
      { name: 'total_timeout', label: 'Total timeout, s', kind: 'seconds' },
      { name: 'max_retry_after', label: 'Max Retry-After, s', kind: 'seconds' },
      { name: 'respect_retry_after', label: 'Respect Retry-After', kind: 'flag' },
    ],
  ],
  [
    'Retry conditions',
    [
      { name: 'retryable_exceptions', label: 'Retry only these errors', kind: 'list' },
      { name: 'abort_exceptions', label: 'Never retry these errors', kind: 'list' },
      { name: 'retry_status_codes', label: 'Retry only these statuses', kind: 'codes' },
      { name: 'retry_non_idempotent', label: 'Retry POST and PATCH too', kind: 'flag' },
    ],
  ],
  [
    'Breaker',
    [
      { name: 'circuit_breaker', label: 'Named breaker', kind: 'text' },
      { name: 'enable_circuit_breaker', label: 'Own breaker', kind: 'flag' },
      { name: 'circuit_breaker_threshold', label: 'Failure threshold', kind: 'number' },
      { name: 'circuit_breaker_timeout', label: 'Open duration, s', kind: 'seconds' },
    ],
  ],
  [
    'Bulkhead and hedge',
    [
      { name: 'bulkhead.limit', label: 'Max concurrent calls', kind: 'number' },
      { name: 'bulkhead.queue', label: 'Max queued calls', kind: 'number', defaultValue: 0 },
      { name: 'hedge.delay', label: 'Hedge after, s', kind: 'seconds' },
      { name: 'hedge.max', label: 'Max hedges', kind: 'number', defaultValue: 1 },
    ],
  ],
  [
    'Retry budget',
    [
      { name: 'budget.ratio', label: 'Retries per call', kind: 'number', defaultValue: 0.2 },
      {
        name: 'budget.reserve_per_second',
        label: 'Reserve, retries per second',
        kind: 'number',
        defaultValue: 10,
      },
      { name: 'budget.window', label: 'Budget window, s', kind: 'seconds', defaultValue: 10 },
      { name: 'budget.shared', label: 'Count the whole fleet', kind: 'flag' },
    ],
  ],
  [
    'General',
    [
      { name: 'name', label: 'Name', kind: 'text' },
      { name: 'description', label: 'Description', kind: 'text' },
      { name: 'enabled', label: 'Enabled', kind: 'flag' },
      { name: 'dead_letter', label: 'Store failed payloads as dead letters', kind: 'flag' },
      { name: 'shadow', label: 'Shadow mode: only report decisions', kind: 'flag' },
    ],
  ],
]

export const FIELDS: readonly PolicyField[] = GROUPS.flatMap(([, fields]) => fields)

/** Fields that are durations. */
export const DURATIONS: ReadonlySet<string> = new Set(
  FIELDS.filter(({ kind }) => kind === 'seconds').map(({ name }) => name),
)

/** Splits the name of a field into its nested object, if any, and its key. */
export const splitName = (name: string): readonly [part: string | undefined, key: string] => {
  const dot = name.indexOf('.')
  return dot < 0 ? [undefined, name] : [name.slice(0, dot), name.slice(dot + 1)]
}
