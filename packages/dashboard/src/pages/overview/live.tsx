import { useSignal } from '@preact/signals'
import { connection } from '../../api/connection.js'
import type { WireEvent } from '../../api/types.js'
import { EmptyState, Panel } from '../../components/basics.js'
import { recentEvents } from '../../events/event-stream.js'
import { EventLine } from './event-line.js'

const MAX_EVENTS_SHOWN = 60

/** The live feed. While it is paused, new events are still collected up to the limit of kept events. */
export function LiveEvents() {
  const paused = useSignal<readonly WireEvent[] | undefined>(undefined)
  const events = paused.value ?? recentEvents.value
  const first = paused.value?.[0]
  const newCount =
    first === undefined ? 0 : recentEvents.value.findIndex(({ event_id }) => event_id === first.event_id)
  const pause = (
    <button
      type="button"
      class="small secondary"
      aria-pressed={paused.value !== undefined}
      onClick={() => {
        paused.value = paused.value === undefined ? recentEvents.peek() : undefined
      }}
    >
      {paused.value === undefined ? 'Pause' : `Resume${newCount > 0 ? ` (${newCount} new)` : ''}`}
    </button>
  )
  return (
    <Panel title="Live feed" actions={pause} class="wide">
      {events.length === 0 ? (
        <EmptyState title={connection.value.state === 'connecting' ? 'Connecting…' : 'No events yet'}>
          Events of retries, breakers and dead letters are listed here as they happen.
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
