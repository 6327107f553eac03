import { useSignal } from '@preact/signals'
import { connection } from '../../api/connection.js'
import type { WireEvent } from '../../api/types.js'
import { EmptyState, Panel } from '../../components/basics.js'
import { recentEvents } from '../../events/event-stream.js'
import { EventLine } from './event-line.js'

const MAX_EVENTS_SHOWN = 60

/** What happens, as it happens. Paused, it stays as it is; nothing is lost meanwhile but what is older than is kept. */
export function LiveEvents() {
  const held = useSignal<readonly WireEvent[] | undefined>(undefined)
  const events = held.value ?? recentEvents.value
  const first = held.value?.[0]
  const missed =
    first === undefined ? 0 : recentEvents.value.findIndex(({ event_id }) => event_id === first.event_id)
  const pause = (
    <button
      type="button"
      class="small secondary"
      aria-pressed={held.value !== undefined}
      onClick={() => {
        held.value = held.value === undefined ? recentEvents.peek() : undefined
      }}
    >
      {held.value === undefined ? 'Pause' : `Resume${missed > 0 ? ` (${missed} new)` : ''}`}
    </button>
  )
  return (
    <Panel title="Live feed" actions={pause} class="wide">
      {events.length === 0 ? (
        <EmptyState title={connection.value.state === 'connecting' ? 'Connecting…' : 'Quiet'}>
          Retries, breakers and dead letters show here the moment they happen.
        </EmptyState>
      ) : (
        <ol class="feed">
          {events.slice(0, MAX_EVENTS_SHOWN).map((event) => (
            <EventLine key={event.event_id} event={event} />
          ))}
        </ol>
      )}
    </Panel>
  )
}
