import type { WirePolicy } from '../../api/types.js'

/** How a field is written. */
type FieldKind = 'text' | 'number' | 'seconds' | 'list' | 'codes' | 'flag' | readonly string[]

/** Fields that have fields of their own. */
export const PARTS = ['bulkhead', 'hedge', 'budget'] as const

/** A field of a policy, or one of a part of it. */
export type FieldName = keyof WirePolicy | `${(typeof PARTS)[number]}.${string}`

export interface PolicyField {
  readonly name: FieldName
  readonly label: string
  readonly kind: FieldKind
  /** What it is where the part is there and this is left empty. */
  readonly defaultValue?: number
}

export const GROUPS: readonly (readonly [title: string, fields: readonly PolicyField[]])[] = [
  [
    'Retrying',
    [
      { name: 'max_attempts', label: 'Attempts, the first included', kind: 'number' },
      {
        name: 'backoff_type',
        label: 'Backoff',
        kind: ['exponential', 'linear', 'fixed', 'immediate', 'fibonacci'],
      },
      { name: 'base_delay', label: 'Base delay, s', kind: 'seconds' },
      { name: 'multiplier', label: 'Multiplier', kind: 'number' },
      { name: 'max_delay', label: 'Longest delay, s', kind: 'seconds' },
    ],
  ],
  [
    'Chance',
    [
      {
        name: 'jitter_type',
        label: 'Jitter',
        kind: ['none', 'full', 'equal', 'decorrelated', 'proportional', 'additive'],
      },
      { name: 'jitter_amount', label: 'Share left to chance, 0 to 1', kind: 'number' },
      { name: 'jitter_min', label: 'Least added, s (additive)', kind: 'seconds' },
      { name: 'jitter_max', label: 'Most added, s (additive)', kind: 'seconds' },
    ],
  ],
  [
    'Deadlines',
    [
      { name: 'attempt_timeout', label: 'For an attempt, s', kind: 'seconds' },
      { name: 'total_timeout', label: 'For the call, s', kind: 'seconds' },
      { name: 'max_retry_after', label: 'Longest Retry-After, s', kind: 'seconds' },
      { name: 'respect_retry_after', label: 'Obey Retry-After', kind: 'flag' },
    ],
  ],
  [
    'Which failures',
    [
      { name: 'retryable_exceptions', label: 'Retry these alone', kind: 'list' },
      { name: 'abort_exceptions', label: 'Never retry these', kind: 'list' },
      { name: 'retry_status_codes', label: 'Retry these statuses alone', kind: 'codes' },
      { name: 'retry_non_idempotent', label: 'Retry POST and PATCH too', kind: 'flag' },
    ],
  ],
  [
    'Breaker',
    [
      { name: 'circuit_breaker', label: 'Shared breaker, by name', kind: 'text' },
      { name: 'enable_circuit_breaker', label: 'A breaker of its own', kind: 'flag' },
      { name: 'circuit_breaker_threshold', label: 'Failures that open it', kind: 'number' },
      { name: 'circuit_breaker_timeout', label: 'Open for, s', kind: 'seconds' },
    ],
  ],
  [
    'Bulkhead and hedge',
    [
      { name: 'bulkhead.limit', label: 'Calls at a time', kind: 'number' },
      { name: 'bulkhead.queue', label: 'Calls that may wait', kind: 'number', defaultValue: 0 },
      { name: 'hedge.delay', label: 'Join an attempt silent for, s', kind: 'seconds' },
      { name: 'hedge.max', label: 'Attempts that may join', kind: 'number', defaultValue: 1 },
    ],
  ],
  [
    'Retry budget',
    [
      { name: 'budget.ratio', label: 'Retries for each call', kind: 'number', defaultValue: 0.2 },
      {
        name: 'budget.reserve_per_second',
        label: 'And a second, in any case',
        kind: 'number',
        defaultValue: 10,
      },
      { name: 'budget.window', label: 'Counted over, s', kind: 'seconds', defaultValue: 10 },
      { name: 'budget.shared', label: 'Count the whole fleet', kind: 'flag' },
    ],
  ],
  [
    'The policy',
    [
      { name: 'name', label: 'Name', kind: 'text' },
      { name: 'description', label: 'Description', kind: 'text' },
      { name: 'enabled', label: 'Enabled', kind: 'flag' },
      { name: 'dead_letter', label: 'Keep what fails as dead letters', kind: 'flag' },
      { name: 'shadow', label: 'Shadow: report, change nothing', kind: 'flag' },
    ],
  ],
]

export const FIELDS: readonly PolicyField[] = GROUPS.flatMap(([, fields]) => fields)

/** Fields that are times. */
export const DURATIONS: ReadonlySet<string> = new Set(
  FIELDS.filter(({ kind }) => kind === 'seconds').map(({ name }) => name),
)

/** The part of a policy that a field is of, and its name there; a field of the policy itself is of no part. */
export const splitName = (name: string): readonly [part: string | undefined, key: string] => {
  const dot = name.indexOf('.')
  return dot < 0 ? [undefined, name] : [name.slice(0, dot), name.slice(dot + 1)]
}
