import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ApiClientError, sendRequest } from '../api/client.js'
import { connection, markConnected } from '../api/connection.js'
import { token, tokenRequest } from '../api/token.js'
import type { WireEvent } from '../api/types.js'
import { clock } from '../browser.js'
import { createMessageParser } from './message-parser.js'

/** How many events are kept for the feed. */
const MAX_RECENT_EVENTS = 200

/** On arrival, so much (ms) of what has just happened is asked for. */
const CATCH_UP_MS = 120_000

/** The server gives a sign of life every 15 s: so long (ms) without one, and the line is dead. */
const SILENCE_TIMEOUT_MS = 40_000

/** Waits between attempts to connect, in ms. */
const RECONNECT_DELAYS_MS = [500, 1000, 2000, 5000]

/** The newest events, newest first. */
export const recentEvents = signal<readonly WireEvent[]>([])

type FeedListener = (events: readonly WireEvent[]) => void
const listeners = new Set<FeedListener>()

/** Tells a view of events, some at a time. */
export function useEvents(listener: FeedListener, deps: readonly unknown[] = []): void {
  useEffect(() => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, deps as unknown[])
}

let pendingEvents: WireEvent[] = []
let flushTimer: unknown

/** Views hear of events four times a second at most, however many there are. */
function onEvent(event: WireEvent): void {
  pendingEvents.push(event)
  flushTimer ??= clock.setTimer(() => {
    flushTimer = undefined
    const heard = pendingEvents
    pendingEvents = []
    recentEvents.value = [...heard.slice(-MAX_RECENT_EVENTS).toReversed(), ...recentEvents.peek()].slice(
      0,
      MAX_RECENT_EVENTS,
    )
    for (const listener of listeners) listener(heard)
  }, 250)
}

const waitOrAbort = (ms: number, stop: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = clock.setTimer(resolve, ms)
    stop.addEventListener('abort', () => {
      clock.clearTimer(timer)
      resolve()
    })
  })

/** Reads the stream until it ends, from the event after `last`. */
async function readStream(last: string, stop: AbortSignal, heard: (id: string) => void): Promise<void> {
  const quiet = new AbortController()
  const signal = AbortSignal.any([stop, quiet.signal])
  let timer = clock.setTimer(() => quiet.abort(), SILENCE_TIMEOUT_MS)
  try {
    const answer = await sendRequest('GET', '/events', { headers: { 'last-event-id': last }, signal })
    const cut = createMessageParser()
    const decoder = new TextDecoder()
    markConnected()
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      clock.clearTimer(timer)
      timer = clock.setTimer(() => quiet.abort(), SILENCE_TIMEOUT_MS)
      for (const { id, data } of cut(decoder.decode(value, { stream: true }))) {
        onEvent(JSON.parse(data) as WireEvent)
        if (id !== undefined) heard(id)
      }
    }
  } finally {
    clock.clearTimer(timer)
  }
}

/** Stays connected. What happens while the line is down is told when it is up again: nothing is missed or told twice. */
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
      // Without a token there is nothing to try again: a new one starts this anew.
      if (error instanceof ApiClientError && error.status === 401) return
    }
    if (stop.aborted) return
    since = connection.peek().state === 'live' ? clock.wall() : (since ?? clock.wall())
    const pause = RECONNECT_DELAYS_MS[Math.min(Math.max(tries, 0), RECONNECT_DELAYS_MS.length - 1)] as number
    connection.value = { state: 'lost', since, again: clock.wall() + pause }
    await waitOrAbort(pause, stop)
  }
}

/** Connects, and again with each new token. */
export function startEventStream(): void {
  effect(() => {
    void token.value
    if (tokenRequest.value !== 'no') return undefined
    const stop = new AbortController()
    recentEvents.value = []
    connection.value = { state: 'connecting' }
    void stayConnected(stop.signal)
    return () => stop.abort()
  })
}
