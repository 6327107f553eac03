import type { Mapping } from '../mapping.js'
import { normalizeKey } from './field-aliases.js'

/** The options of a library, translated to settings that the migration understands, and notes for a review. */
export interface Translation {
  readonly value: Mapping
  readonly notes: readonly (readonly [key: string, message: string])[]
}

/** How an option is translated: its name here, or what it becomes; `null` for one that needs no equivalent. */
type Rule = string | null | ((value: unknown) => Mapping)

interface Library {
  /** Options that only this library has: one of them identifies it. */
  readonly signs: readonly string[]
  readonly rules: { readonly [option: string]: Rule }
  readonly notes: { readonly [option: string]: string }
  /** The library's default values. */
  readonly defaults: Mapping
}

/** Options of p-retry and of the `retry` package under it. Times are milliseconds. */
const P_RETRY: Library = {
  signs: ['min_timeout', 'max_timeout', 'max_retry_time', 'randomize', 'forever'],
  rules: {
    min_timeout: 'base_delay_ms',
    max_timeout: 'max_delay_ms',
    max_retry_time: 'total_timeout_ms',
    randomize: 'jitter',
    forever: (value) => (value === true ? { max_attempts: Number.POSITIVE_INFINITY } : {}),
    unref: null,
  },
  notes: {
    randomize: 'made delays up to twice as long; here they vary by half in both directions',
  },
  defaults: {},
}

/** Options of opossum, which has one timeout and one breaker for a function and never retries. Times are milliseconds. */
const OPOSSUM: Library = {
  signs: [
    'error_threshold_percentage',
    'rolling_count_timeout',
    'rolling_count_buckets',
    'volume_threshold',
    'rolling_percentiles_enabled',
    'allow_warm_up',
  ],
  rules: {
    timeout: (value) => (value === false ? {} : { attempt_timeout_ms: value }),
    capacity: (value) => ({ bulkhead: { limit: value, queue: 0 } }),
    error_threshold_percentage: breakerField('failure_rate', (value) =>
      typeof value === 'number' ? value / 100 : value,
    ),
    volume_threshold: breakerField('minimum_calls', (value) =>
      typeof value === 'number' ? Math.max(1, value) : value,
    ),
    rolling_count_timeout: breakerField('window_duration_ms'),
    reset_timeout: breakerField('timeout_duration_ms'),
    max_failures: breakerField('failure_threshold'),
    enabled: breakerField('enabled'),
    name: breakerField('name'),
    rolling_count_buckets: null,
    rolling_percentiles_enabled: null,
    enable_snapshots: null,
    auto_renew_abort_controller: null,
    allow_warm_up: null,
    group: null,
  },
  notes: {
    allow_warm_up: 'has no equivalent and was ignored: no breaker opens before minimum_calls',
  },
  defaults: { max_attempts: 1, circuit_breaker: { failure_rate: 0.5 } },
}

function breakerField(field: string, convert: (value: unknown) => unknown = (value) => value): Rule {
  return (value) => ({ circuit_breaker: { [field]: convert(value) } })
}

const LIBRARIES = [P_RETRY, OPOSSUM]

const byPlainName = <T>(words: { readonly [word: string]: T }): ReadonlyMap<string, T> =>
  new Map(Object.entries(words).map(([word, held]) => [normalizeKey(word), held]))

/** Merges two translated options, breaker fields one by one. */
function merge(into: Mapping, more: Mapping): void {
  for (const [key, value] of Object.entries(more))
    into[key] = key === 'circuit_breaker' ? { ...Object(into[key]), ...Object(value) } : value
}

/** Translates the options of a known library; undefined for all other options. */
export function translateLibraryOptions(input: Mapping): Translation | undefined {
  const keys = new Set(Object.keys(input).map(normalizeKey))
  const library = LIBRARIES.find(({ signs }) => signs.some((sign) => keys.has(normalizeKey(sign))))
  if (library === undefined) return undefined
  const rules = byPlainName(library.rules)
  const said = byPlainName(library.notes)
  const value: Mapping = { ...library.defaults }
  const notes: (readonly [string, string])[] = []
  for (const [key, held] of Object.entries(input)) {
    const rule = rules.get(normalizeKey(key))
    const note = said.get(normalizeKey(key))
    if (note !== undefined && held !== false) notes.push([key, note])
    if (rule === undefined) value[key] = held
    else if (typeof rule === 'string') value[rule] = held
    else if (rule !== null) merge(value, rule(held))
  }
  if (library === OPOSSUM && !keys.has('volumethreshold'))
    notes.push([
      'volumeThreshold',
      'is not set: opossum may open after one failure, here after minimum_calls (10)',
    ])
  return { value, notes }
}
