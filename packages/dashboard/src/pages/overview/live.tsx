import { useSignal } from '@preact/signals'
import { connection } from '../../api/connection.js'
import type { WireEvent } from '../../api/types.js'
import { EmptyState, Panel } from '../../components/basics.js'
import { ChoiceFilter, Filters, TextFilter } from '../../components/filters.js'
import { recentEvents } from '../../events/event-stream.js'
import { route } from '../../route.js'
import { EventLine } from './event-line.js'

const MAX_EVENTS_SHOWN = 60

/** The groups of events by the start of their type. */
const EVENT_GROUPS = [
  ['', 'All events'],
  ['retry_failure', 'Failed calls'],
  ['retry_', 'Retries'],
  ['circuit_breaker_', 'Breakers'],
  ['dead_letter_', 'Dead letters'],
  ['config_', 'Configuration'],
  ['alert', 'Alerts'],
] as const

/** Whether an event matches the filters of the feed. */
function matchesFilter(
  { event_type, operation, session_id, context, error }: WireEvent,
  group: string,
  text: string,
): boolean {
  if (!event_type.startsWith(group)) return false
  const search = text.trim().toLowerCase()
  const found = [operation, session_id, error?.message, JSON.stringify(context ?? {})]
  return search === '' || found.some((value) => value?.toLowerCase().includes(search) === true)
}

/** The live feed. While it is paused, new events are still collected up to the limit of kept events. */
export function LiveEvents() {
  const paused = useSignal<readonly WireEvent[] | undefined>(undefined)
  const { event: group = '', feed: text = '' } = route.value.query
  const received = paused.value ?? recentEvents.value
  const events = received.filter((event) => matchesFilter(event, group, text))
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
      <Filters label="Filter events">
        <ChoiceFilter name="event" label="Events" options={EVENT_GROUPS} />
        <TextFilter name="feed" label="Filter by operation or ID" />
      </Filters>
      {events.length === 0 ? (
        <EmptyState
          title={
            connection.value.state === 'connecting'
              ? 'Connecting…'
              : received.length === 0
                ? 'No events yet'
                : 'No matching events'
          }
        >
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
