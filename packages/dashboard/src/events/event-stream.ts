import { waitOrAbort } from '@holdfast/server/internal'
import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { sendRequest } from '../api/client.js'
import { connection, markConnected } from '../api/connection.js'
import { ApiClientError } from '../api/error-response.js'
import { signInCount, signInState } from '../api/sign-in.js'
import type { WireEvent } from '../api/types.js'
import { clock } from '../browser.js'
import { createMessageParser } from './message-parser.js'

/** How many events are kept for the live feed. */
const MAX_RECENT_EVENTS = 200

/** How far back events are loaded when the page opens. */
const CATCH_UP_MS = 120_000

/** The connection counts as lost after this time without data. The server sends a heartbeat every 15 s. */
const SILENCE_TIMEOUT_MS = 40_000

/** The delays between attempts to reconnect. */
const RECONNECT_DELAYS_MS = [500, 1000, 2000, 5000]

/** How long events are collected before the listeners are notified. */
const FLUSH_DELAY_MS = 250

/** The newest events, newest first. */
export const recentEvents = signal<readonly WireEvent[]>([])

type FeedListener = (events: readonly WireEvent[]) => void
const listeners = new Set<FeedListener>()

/** Calls the listener with batches of new events while the component is mounted. */
export function useEvents(listener: FeedListener, deps: readonly unknown[] = []): void {
  useEffect(() => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, deps as unknown[])
}

let pendingEvents: WireEvent[] = []
let flushTimer: unknown

/** Collects events and notifies the listeners at most four times a second. */
function onEvent(event: WireEvent): void {
  pendingEvents.push(event)
  flushTimer ??= clock.setTimer(() => {
    flushTimer = undefined
    const events = pendingEvents
    pendingEvents = []
    recentEvents.value = [...events.slice(-MAX_RECENT_EVENTS).toReversed(), ...recentEvents.peek()].slice(
      0,
      MAX_RECENT_EVENTS,
    )
    for (const listener of listeners) listener(events)
  }, FLUSH_DELAY_MS)
}

/** Reads the stream until it ends, beginning after the event `last`. */
async function readStream(last: string, stop: AbortSignal, onEventId: (id: string) => void): Promise<void> {
  const silence = new AbortController()
  const signal = AbortSignal.any([stop, silence.signal])
  let timer = clock.setTimer(() => silence.abort(), SILENCE_TIMEOUT_MS)
  try {
    const response = await sendRequest('GET', '/events', { headers: { 'last-event-id': last }, signal })
    const parseMessages = createMessageParser()
    const decoder = new TextDecoder()
    markConnected()
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      clock.clearTimer(timer)
      timer = clock.setTimer(() => silence.abort(), SILENCE_TIMEOUT_MS)
      for (const { id, data } of parseMessages(decoder.decode(value, { stream: true }))) {
        onEvent(JSON.parse(data) as WireEvent)
        if (id !== undefined) onEventId(id)
      }
    }
  } finally {
    clock.clearTimer(timer)
  }
}

/** Reads the stream and reconnects until it is stopped. After a reconnect it continues with the next event, so no event is missed or repeated. */
async function stayConnected(stop: AbortSignal): Promise<void> {
  let last = `evt_${clock.wall() - CATCH_UP_MS}_`
  let since: number | undefined
  for (let tries = 0; !stop.aborted; tries++) {
    try {
      await readStream(last, stop, (id) => {
        last = id
        since = undefined
        tries = -1
      })
      if (connection.peek().state === 'live') tries = 0
    } catch (error) {
      // Without a sign-in a reconnect is useless; the next sign-in starts the stream again.
      if (error instanceof ApiClientError && error.status === 401) return
    }
    if (stop.aborted) return
    since = connection.peek().state === 'live' ? clock.wall() : (since ?? clock.wall())
    const delay = RECONNECT_DELAYS_MS[Math.min(Math.max(tries, 0), RECONNECT_DELAYS_MS.length - 1)] as number
    connection.value = { state: 'lost', since, reconnectAt: clock.wall() + delay }
    await waitOrAbort(clock, delay, stop)
  }
}

/** Connects to the event stream, and reconnects with each sign-in. */
export function startEventStream(): void {
  effect(() => {
    void signInCount.value
    if (signInState.value !== 'allowed') return undefined
    const stop = new AbortController()
    recentEvents.value = []
    connection.value = { state: 'connecting' }
    void stayConnected(stop.signal)
    return () => stop.abort()
  })
}
