import { getJson } from '../api/client.js'
import type { WireFleet } from '../api/types.js'
import { useQuery } from '../api/use-query.js'
import { Time } from '../components/basics.js'
import { useEvents } from '../events/event-stream.js'

/** Says when the server has lost what it shares with the other nodes of its fleet. */
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
          <strong>Shared state is lost</strong>
          {shared.lost_since != null && (
            <>
              : it was last there <Time at={shared.lost_since} />
            </>
          )}
          . Calls go on: this node decides alone, and joins the <a href="/nodes">others</a> by itself when it
          can.
        </p>
      )}
    </div>
  )
}
