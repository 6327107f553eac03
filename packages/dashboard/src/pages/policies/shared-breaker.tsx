import { BREAKER_DEFAULTS } from 'holdfast/internal'
import { formatDuration, formatInline } from '../../format.js'
import { urlFor } from '../../route.js'
import type { PolicyConfig } from './load.js'

/** The values of a breaker that a policy page shows, with their defaults on the wire. */
const SHOWN_VALUES = [
  ['failure_threshold', 'Failure threshold', BREAKER_DEFAULTS.failureThreshold, false],
  ['window_type', 'Window', BREAKER_DEFAULTS.windowType, false],
  ['failure_rate', 'Failure rate', undefined, false],
  ['timeout_duration', 'Open duration', BREAKER_DEFAULTS.timeoutDuration / 1000, true],
  ['success_threshold', 'Successes to close', BREAKER_DEFAULTS.successThreshold, false],
] as const

/** The id of the breaker of a service. */
const breakerIdOf = (name: string): string => `service:${encodeURIComponent(name)}`

/** The values of the shared breaker, which apply instead of those of the dedicated breaker. */
export function SharedBreaker({ config, name }: { config: PolicyConfig; name: string }) {
  const breaker = config.circuit_breakers?.[name]
  if (breaker === undefined) return null
  return (
    <div class="shared-breaker">
      <p>
        The shared breaker <a href={urlFor('/breakers', { q: breakerIdOf(name) })}>{name}</a> applies instead
        of the dedicated breaker. Its values, from <code>circuit_breakers</code>:
      </p>
      <dl aria-label={`Values of the shared breaker ${name}`}>
        {SHOWN_VALUES.map(([key, label, initial, isDuration]) => {
          const value = breaker[key] ?? initial
          if (value === undefined) return null
          return (
            <div key={key}>
              <dt>{label}</dt>
              <dd>{isDuration ? formatDuration(Number(value)) : formatInline(value)}</dd>
            </div>
          )
        })}
      </dl>
    </div>
  )
}
