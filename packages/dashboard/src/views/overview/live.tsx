import { useSignal } from '@preact/signals'
import type { FeedEvent } from '../../api/types.js'
import { connection } from '../../feed/connection.js'
import { recent } from '../../feed/feed.js'
import { Empty, Panel } from '../../parts/basics.js'
import { EventLine } from './event-line.js'

const SHOWN = 60

/** What happens, as it happens. Paused, it stays as it is; nothing is lost meanwhile but what is older than is kept. */
export function Live() {
  const held = useSignal<readonly FeedEvent[] | undefined>(undefined)
  const events = held.value ?? recent.value
  const first = held.value?.[0]
  const missed =
    first === undefined ? 0 : recent.value.findIndex(({ event_id }) => event_id === first.event_id)
  const pause = (
    <button
      type="button"
      class="small secondary"
      aria-pressed={held.value !== undefined}
      onClick={() => {
        held.value = held.value === undefined ? recent.peek() : undefined
      }}
    >
      {held.value === undefined ? 'Pause' : `Resume${missed > 0 ? ` (${missed} new)` : ''}`}
    </button>
  )
  return (
    <Panel title="Live feed" actions={pause} class="wide">
      {events.length === 0 ? (
        <Empty title={connection.value.state === 'connecting' ? 'Connecting…' : 'Quiet'}>
          Retries, breakers and dead letters show here the moment they happen.
        </Empty>
      ) : (
        <ol class="feed">
          {events.slice(0, SHOWN).map((event) => (
            <EventLine key={event.event_id} event={event} />
          ))}
        </ol>
      )}
    </Panel>
  )
}
