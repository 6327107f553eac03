import { connection } from '../api/connection.js'
import { formatDuration } from '../format.js'
import { now } from '../now.js'

/** Shows that the connection to the server is lost. */
export function ConnectionBanner() {
  const current = connection.value
  const wait =
    current.state === 'lost' ? Math.max(0, Math.round((current.reconnectAt - now.value) / 1000)) : 0
  const seconds = current.state === 'lost' ? Math.round((now.value - current.since) / 1000) : 0
  return (
    <div class="line" role="status">
      {current.state === 'lost' && (
        <p>
          <strong>Connection lost</strong> {seconds < 2 ? 'just now' : `${formatDuration(seconds)} ago`}. The
          data may be outdated. {wait > 0 ? `Reconnecting in ${wait} s.` : 'Reconnecting…'}
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
