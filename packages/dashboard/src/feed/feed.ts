import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ApiError, request } from '../api/call.js'
import { token, wanted } from '../api/token.js'
import type { FeedEvent } from '../api/types.js'
import { clock } from '../page.js'
import { connected, connection } from './connection.js'
import { messages } from './parse.js'

/** How many events are kept for the feed. */
const KEPT = 200

/** On arrival, so much (ms) of what has just happened is asked for. */
const BEFORE = 120_000

/** The server gives a sign of life every 15 s: so long (ms) without one, and the line is dead. */
const SILENCE = 40_000

/** Waits between attempts to connect, in ms. */
const WAITS = [500, 1000, 2000, 5000]

/** The newest events, newest first. */
export const recent = signal<readonly FeedEvent[]>([])

type Listener = (events: readonly FeedEvent[]) => void
const listeners = new Set<Listener>()

/** Tells a view of events, some at a time. */
export function useEvents(listener: Listener, deps: readonly unknown[] = []): void {
  useEffect(() => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, deps as unknown[])
}

let fresh: FeedEvent[] = []
let due: unknown

/** Views hear of events four times a second at most, however many there are. */
function hear(event: FeedEvent): void {
  fresh.push(event)
  due ??= clock.setTimer(() => {
    due = undefined
    const heard = fresh
    fresh = []
    recent.value = [...heard.slice(-KEPT).toReversed(), ...recent.peek()].slice(0, KEPT)
    for (const listener of listeners) listener(heard)
  }, 250)
}

const wait = (ms: number, stop: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = clock.setTimer(resolve, ms)
    stop.addEventListener('abort', () => {
      clock.clearTimer(timer)
      resolve()
    })
  })

/** Reads the stream until it ends, from the event after `last`. */
async function read(last: string, stop: AbortSignal, heard: (id: string) => void): Promise<void> {
  const quiet = new AbortController()
  const signal = AbortSignal.any([stop, quiet.signal])
  let timer = clock.setTimer(() => quiet.abort(), SILENCE)
  try {
    const answer = await request('GET', '/events', { headers: { 'last-event-id': last }, signal })
    const cut = messages()
    const decoder = new TextDecoder()
    connected()
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      clock.clearTimer(timer)
      timer = clock.setTimer(() => quiet.abort(), SILENCE)
      for (const { id, data } of cut(decoder.decode(value, { stream: true }))) {
        hear(JSON.parse(data) as FeedEvent)
        if (id !== undefined) heard(id)
      }
    }
  } finally {
    clock.clearTimer(timer)
  }
}

/** Stays connected. What happens while the line is down is told when it is up again: nothing is missed or told twice. */
async function follow(stop: AbortSignal): Promise<void> {
  let last = `evt_${clock.wall() - BEFORE}_`
  let since: number | undefined
  for (let tries = 0; !stop.aborted; tries++) {
    try {
      await read(last, stop, (id) => {
        last = id
        since = undefined
        tries = -1
      })
      if (connection.peek().state === 'live') tries = 0
    } catch (error) {
      // Without a token there is nothing to try again: a new one starts this anew.
      if (error instanceof ApiError && error.status === 401) return
    }
    if (stop.aborted) return
    since = connection.peek().state === 'live' ? clock.wall() : (since ?? clock.wall())
    const pause = WAITS[Math.min(Math.max(tries, 0), WAITS.length - 1)] as number
    connection.value = { state: 'lost', since, again: clock.wall() + pause }
    await wait(pause, stop)
  }
}

/** Connects, and again with each new token. */
export function startFeed(): void {
  effect(() => {
    void token.value
    if (wanted.value !== 'no') return undefined
    const stop = new AbortController()
    recent.value = []
    connection.value = { state: 'connecting' }
    void follow(stop.signal)
    return () => stop.abort()
  })
}
