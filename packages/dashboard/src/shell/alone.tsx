import { get } from '../api/call.js'
import { useLoad } from '../api/load.js'
import type { Fleet } from '../api/types.js'
import { useEvents } from '../feed/feed.js'
import { Time } from '../parts/basics.js'

/** Says when the server has lost what it shares with the other nodes of its fleet. */
export function Alone() {
  const loaded = useLoad('shared', (signal) => get<Fleet>('/nodes', {}, signal))
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
