// An attempt that was aborted, or whose deadline passed, while the body of the previous response was discarded still sent its
// request.
import { Agent, request } from 'undici'
import { expect, it, onTestFinished } from 'vitest'
import { MAX_DRAIN_MS } from '../../src/http/discard.js'
import { createFetch } from '../../src/http/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { resilience } from '../../src/undici/index.js'
import { fate } from '../guard/watch.js'
import { serve, until } from '../http/server.js'

const retry = { maxAttempts: 2, backoffType: 'immediate' } as const

/** A fake clock that records whether a body is being discarded. */

function drainingClock() {
  const clock = fakeClock()
  const { setTimer } = clock
  const state = { isDraining: false }
  clock.setTimer = (fn, ms) => {
    state.isDraining ||= ms === MAX_DRAIN_MS
    return setTimer(fn, ms)
  }
  return { clock, state }
}

it.each(['the caller aborts', 'the attempt times out'])(
  'a fetch sends no request when %s while the previous response is discarded',
  async (how) => {
    const clock = fakeClock()
    const stop = new AbortController()
    let sent = 0
    const send = createFetch({
      clock,
      retry,
      ...(how === 'the attempt times out' && { timeout: { attempt: MAX_DRAIN_MS / 2 } }),
      fetch: async () => {
        sent++
        return new Response(new ReadableStream(), { status: 503 })
      },
    })
    const call = fate(send('http://a.example', { signal: stop.signal }))
    await clock.advance(MAX_DRAIN_MS / 2)
    if (how === 'the caller aborts') stop.abort('enough')
    await clock.advance(MAX_DRAIN_MS)
    expect(call.state).toBe('rejected')
    expect(sent).toBe(1)
  },
)

it.each(['the caller aborts', 'the attempt times out'])(
  'the undici interceptor sends no request when %s while the previous response is discarded',
  async (how) => {
    const { clock, state } = drainingClock()
    const stop = new AbortController()
    const plain = new Agent()
    onTestFinished(() => plain.destroy())
    let isClosed = false
    const server = await serve((_request, response) => {
      response.writeHead(503).write('unfinished')
      response.on('close', () => {
        isClosed = true
      })
    })
    let sent = 0
    const timeout = how === 'the attempt times out' ? { attempt: MAX_DRAIN_MS / 2 } : {}
    const dispatcher = plain.compose(
      (dispatch) => (options, handler) => {
        sent++
        return dispatch(options, handler)
      },
      resilience({ clock, retry, timeout }),
    )
    const call = fate(request(server.url, { dispatcher, signal: stop.signal }))
    await until(() => state.isDraining)
    if (how === 'the caller aborts') stop.abort('enough')
    await clock.advance(MAX_DRAIN_MS / 2)
    await until(() => call.state !== 'pending')
    await clock.advance(MAX_DRAIN_MS)
    await until(() => isClosed)
    for (let turns = 0; turns < 10; turns++) await clock.advance(0)
    expect(call.state).toBe('rejected')
    expect(sent).toBe(1)
  },
)
