import { getJson } from '../api/client.js'
import type { WireFleet } from '../api/types.js'
import { useQuery } from '../api/use-query.js'
import { Time } from '../components/basics.js'
import { useEvents } from '../events/event-stream.js'

/** Shows that the server cannot reach the shared state of its fleet. */
export function FleetLostBanner() {
  const loaded = useQuery('shared', (signal) => getJson<WireFleet>('/nodes', {}, signal))
  useEvents((events) => {
    if (events.some(({ event_type }) => event_type.startsWith('shared_state_'))) loaded.reload()
  })
  const shared = loaded.data?.shared
  return (
    <div class="line" role="status">
      {shared?.up === false && (
        <p>
          <strong>The shared state cannot be reached</strong>
          {shared.lost_since != null && (
            <>
              , connection lost <Time at={shared.lost_since} />
            </>
          )}
          . Calls continue with the local state of this node, which reconnects to the{' '}
          <a href="/nodes">fleet</a> automatically.
        </p>
      )}
    </div>
  )
}
