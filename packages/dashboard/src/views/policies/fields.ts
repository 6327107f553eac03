import type { Policy } from '../../api/types.js'

/** How a field is written. */
type Kind = 'text' | 'number' | 'seconds' | 'list' | 'codes' | 'flag' | readonly string[]

export interface Field {
  readonly name: keyof Policy
  readonly label: string
  readonly kind: Kind
}

export const GROUPS: readonly (readonly [title: string, fields: readonly Field[]])[] = [
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

export const FIELDS: readonly Field[] = GROUPS.flatMap(([, fields]) => fields)

/** Fields that are times. */
export const DURATIONS: ReadonlySet<string> = new Set(
  FIELDS.filter(({ kind }) => kind === 'seconds').map(({ name }) => name),
)

/** A policy as it stands in the form: text, or yes and no. */
export type Draft = Readonly<Record<string, string | boolean>>

function written(value: unknown): string | boolean {
  if (typeof value === 'boolean') return value
  if (value === undefined || value === null) return ''
  return Array.isArray(value) ? value.join(', ') : String(value as string | number)
}

/** A policy as the form shows it. */
export const draftOf = (policy: Partial<Policy>): Draft =>
  Object.fromEntries(
    FIELDS.map(({ name, kind }) => [name, kind === 'flag' ? policy[name] === true : written(policy[name])]),
  )

/** What cannot be read stays as it was written, for the server to say what is wrong with it. */
const number = (text: string): unknown => {
  const read = Number(text)
  return text === '' ? null : text === 'Infinity' || Number.isNaN(read) ? text : read
}

/** What a field of the form means on the wire: null where it is left empty. */
export function meaning({ kind }: Field, value: string | boolean): unknown {
  if (typeof value === 'boolean') return value
  const text = value.trim()
  if (kind === 'number' || kind === 'seconds') return number(text)
  if (kind !== 'list' && kind !== 'codes') return text === '' ? null : text
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  if (parts.length === 0) return null
  return kind === 'codes' ? parts.map(number) : parts
}

/** The whole policy that a form means; fields that the form does not show stay as they are. */
export function policyOf(policy: Partial<Policy>, draft: Draft): Record<string, unknown> {
  const { schema: _, id: __, ...rest } = policy
  const own = FIELDS.map((field) => [field.name, meaning(field, draft[field.name] ?? '')] as const)
  return Object.fromEntries(
    [...Object.entries(rest), ...own].filter(([, value]) => value !== null && value !== undefined),
  )
}

/** A field before and after. */
export interface Difference {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

/** What differs between two records, in the order of the fields. */
export function differences(before: Record<string, unknown>, after: Record<string, unknown>): Difference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .filter((name) => JSON.stringify(before[name] ?? null) !== JSON.stringify(after[name] ?? null))
    .map((name) => ({ name, before: before[name], after: after[name] }))
}
