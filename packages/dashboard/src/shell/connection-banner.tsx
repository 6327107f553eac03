import { connection } from '../api/connection.js'
import { formatDuration } from '../format.js'
import { now } from '../now.js'

/** Says when the server cannot be heard. */
export function ConnectionBanner() {
  const line = connection.value
  const wait = line.state === 'lost' ? Math.max(0, Math.round((line.again - now.value) / 1000)) : 0
  const away = line.state === 'lost' ? Math.round((now.value - line.since) / 1000) : 0
  return (
    <div class="line" role="status">
      {line.state === 'lost' && (
        <p>
          <strong>Connection lost</strong> {away < 2 ? 'just now' : `${formatDuration(away)} ago`}. What is
          shown may be old. {wait > 0 ? `Trying again in ${wait} s.` : 'Trying again…'}
        </p>
      )}
    </div>
  )
}

/** The same in a word, for the side of the page. */
export function ConnectionIndicator() {
  const { state } = connection.value
  const text = { connecting: 'Connecting', live: 'Live', lost: 'Offline' }[state]
  return (
    <span class={`pulse ${state}`}>
      <span aria-hidden="true">{state === 'live' ? '●' : '○'}</span> {text}
    </span>
  )
}
