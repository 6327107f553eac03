/** Keys of a configuration whose values are durations. */
const DURATIONS = new Set(
  (
    'base_delay max_delay jitter_min jitter_max max_retry_after attempt_timeout total_timeout circuit_breaker_timeout ' +
    'delay window window_duration timeout_duration max_timeout_duration slow_call_duration probe_lease interval max_age ' +
    'idle_timeout heartbeat'
  ).split(' '),
)

/** Keys under which names of the user's stand, and how many levels of them. */
const NAMED: Record<string, number> = {
  policies: 1,
  circuit_breakers: 1,
  pools: 1,
  subsystems: 1,
  error_kinds: 1,
  overrides: 1,
  subsystem_mappings: 3,
}

const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const leaf = (key: string, value: unknown): unknown => {
  if (value === Number.POSITIVE_INFINITY) return 'Infinity'
  return typeof value === 'number' && DURATIONS.has(key) ? value / 1000 : value
}

/** A configuration of the runtime's in the spelling of its file: snake_case and seconds; names of the user's stay. */
export function fileSpelling(value: unknown, key = '', named = 0): unknown {
  if (Array.isArray(value)) return value.map((one) => fileSpelling(one, key))
  if (typeof value !== 'object' || value === null) return leaf(key, value)
  const result: Record<string, unknown> = {}
  for (const [name, held] of Object.entries(value)) {
    if (held === undefined) continue
    const spelled = named > 0 ? name : snake(name)
    const below = named > 0 ? named - 1 : (NAMED[spelled] ?? 0)
    result[spelled] = fileSpelling(held, named > 0 ? '' : spelled, below)
  }
  return result
}
