import { connection } from '../api/connection.js'
import { Time } from '../components/time.js'
import { now } from '../now.js'

/** Shows that the connection to the server is lost. */
export function ConnectionBanner() {
  const current = connection.value
  const wait = current.state === 'lost' ? Math.max(0, Math.ceil((current.reconnectAt - now.value) / 1000)) : 0
  return (
    <div class="line" role="status">
      {current.state === 'lost' && (
        <p>
          <strong>Data may be stale.</strong> {wait > 0 ? `Reconnecting in ${wait} s.` : 'Reconnecting…'} The
          connection was lost <Time at={current.since} />. Actions are disabled until it is back.
        </p>
      )}
    </div>
  )
}

/** The state of the connection in one word, for the menu. */
export function ConnectionIndicator() {
  const { state } = connection.value
  const text = { connecting: 'Connecting', live: 'Live', lost: 'Offline' }[state]
  return (
    <span class={`pulse ${state}`}>
      <span aria-hidden="true">{state === 'live' ? '●' : '○'}</span> {text}
    </span>
  )
}
