import { signal } from '@preact/signals'
import { callApi } from '../../api/client.js'
import type { WireBreaker } from '../../api/types.js'
import { confirm } from '../../components/confirm-dialog.js'
import { toast } from '../../components/toast.js'
import { formatDuration } from '../../format.js'
import { replaceBreakers } from './store.js'

/** The choices of how long a tripped breaker stays open: an empty value is its open duration. */
const TRIP_CHOICES = [
  ['300', '5 min'],
  ['900', '15 min'],
  ['3600', '1 h'],
  ['14400', '4 h'],
  ['86400', '1 d'],
  ['Infinity', 'until it is reset'],
] as const

/** A tripped breaker stays open for at most 365 days. Above this, in seconds, it is open until it is reset. */
const UNTIL_RESET_S = 300 * 86_400

export const isOpenUntilReset = ({ trip_duration }: WireBreaker): boolean =>
  trip_duration != null && trip_duration > UNTIL_RESET_S

async function sendChange(id: string, action: 'reset' | 'trip', body: object, reason: string): Promise<void> {
  const breaker = await callApi<WireBreaker>(
    'POST',
    `/circuit-breakers/${encodeURIComponent(id)}/${action}`,
    {
      body,
      reason,
    },
  )
  replaceBreakers([breaker])
  toast(`${id} is ${breaker.state.replace('_', ' ')}.`)
}

/** Closes a breaker after a confirmation. */
export const confirmReset = ({ id }: WireBreaker, onDone?: () => void): void =>
  confirm({
    title: `Reset ${id}?`,
    text: 'The breaker closes at once and clears its failures: calls are allowed again.',
    action: 'Reset',
    async run(reason) {
      await sendChange(id, 'reset', {}, reason)
      onDone?.()
    },
  })

/** Opens a breaker for its open duration, for a duration or until it is reset, after a confirmation. */
export function confirmTrip({ id, timeout_duration }: WireBreaker, onDone?: () => void): void {
  const duration = signal('')
  const Choice = () => (
    <>
      <p>
        The breaker opens at once and rejects calls. Then the next call is a probe, which closes it if it
        succeeds.
      </p>
      <label>
        Keep open
        <select
          value={duration.value}
          onChange={(change) => {
            duration.value = change.currentTarget.value
          }}
        >
          <option value="">for the open duration, {formatDuration(timeout_duration)}</option>
          {TRIP_CHOICES.map(([value, text]) => (
            <option value={value}>{value === 'Infinity' ? text : `for ${text}`}</option>
          ))}
        </select>
      </label>
    </>
  )
  confirm({
    title: `Trip ${id}?`,
    text: <Choice />,
    action: 'Trip',
    isDangerous: true,
    async run(reason) {
      const chosen = duration.peek()
      const body = chosen === '' ? {} : { duration: chosen === 'Infinity' ? chosen : Number(chosen) }
      await sendChange(id, 'trip', body, reason)
      onDone?.()
    },
  })
}
