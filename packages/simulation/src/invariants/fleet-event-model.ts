import type { RetryEvent } from '@holdfast/records'
import type { Holdfast } from '@holdfast/runtime'
import type { FleetEventStream } from '../../../fleet/src/event-stream.js'
import { APPEND, type RedisScript } from '../../../fleet/src/lua/scripts.js'
import { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import type { SimulatedRedis } from '../substitutes/index.js'

/** An event is sent within this time while Redis is available. */
const SENT_WITHIN_MS = 3000

/** A batch has ended after this time: the connection gives up a command after half a second. */
const MAX_BATCH_MS = 10_000

/** The stream with its private parts. */
interface Stream extends Pick<FleetEventStream, 'add' | 'dropped'> {
  readonly pending: readonly RetryEvent[]
  /** Resolves when the batches that are under way have ended. */
  readonly sending: Promise<void> | undefined
  readonly redis: {
    readonly isUp: boolean
    run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>
  }
}

/** What one process has published. */
interface Publisher {
  readonly stream: Stream
  /** The position of each event in the order in which the process published them. */
  readonly positions: Map<string, number>
  /** Whether a batch is under way that was sent before the runtime was open, so that its number of events is not known. */
  hasUnknownBatch: boolean
  /** How many events Redis has acknowledged, and how many are on their way to it. */
  acknowledged: number
  underWay: number
  /** The first events of batches whose request has failed. The server can still execute them late. */
  readonly failedBatches: Set<string>
  /** The position of the latest event in the stream. */
  latest: number
  /** Since when a batch is under way; undefined if there is none. */
  sendingSince: number | undefined
  /** The oldest event that waits although Redis is available, and since when. */
  waiting: { readonly id: string; readonly since: number } | undefined
}

/** The key of the identity of an event in its stored text. */
const EVENT_ID_PATTERN = /"event_id":"([^"]+)"/

const idOf = (text: unknown): string => EVENT_ID_PATTERN.exec(String(text))?.[1] ?? 'an event without an id'

/** How many events a process has sent, sends, keeps or has dropped. */
const countEvents = ({ acknowledged, underWay, stream: { pending, dropped } }: Publisher): number =>
  acknowledged + underWay + pending.length + dropped

/**
 * The promises about the stream of events of a fleet: it has the events that a node has published in their order and once each, and a
 * node counts each event that it did not send as dropped. Redis is the truth: the model reads what it has executed.
 */
export class FleetEventModel {
  storedCount = 0
  private readonly publishers = new Map<Process, Publisher>()
  /** The process that has published an event. */
  private readonly owners = new Map<string, Publisher>()
  private readonly storedIds = new Set<string>()
  private readonly sentIds = new Set<string>()
  private readonly check: (fn: () => void) => void
  private readonly now: () => number

  /** Whether the network never delivers a command twice, so that the stream has no copies. */
  private readonly isNetworkExact: boolean

  constructor(
    redis: SimulatedRedis,
    check: (fn: () => void) => void,
    now: () => number,
    isNetworkExact: boolean,
  ) {
    this.check = check
    this.now = now
    this.isNetworkExact = isNetworkExact
    const execute = redis.execute.bind(redis)
    redis.execute = (command, at, connection) => {
      const result = execute(command, at, connection)
      const isAppend = command[1] === APPEND.sha || command[1] === APPEND.text
      // The name, the script, the number of keys, a key and three arguments precede the events.
      if (isAppend && result.error === undefined) check(() => this.onStored(command.slice(7)))
      return result
    }
  }

  onStarted(process: Process, runtime: Holdfast): void {
    const { fleet } = runtime as unknown as { fleet?: { coordinator: { eventStream: Stream } } }
    if (fleet !== undefined) this.watch(process, fleet.coordinator.eventStream)
  }

  /** Follows a stream from now on. */
  watch(process: Process, stream: Stream): void {
    const { redis } = stream
    const publisher: Publisher = {
      stream,
      positions: new Map(),
      hasUnknownBatch: stream.sending !== undefined,
      acknowledged: -stream.dropped,
      underWay: 0,
      failedBatches: new Set(),
      latest: 0,
      sendingSince: stream.sending === undefined ? undefined : this.now(),
      waiting: undefined,
    }
    const publish = ({ eventId }: RetryEvent) => {
      publisher.positions.set(eventId, publisher.positions.size + 1)
      this.owners.set(eventId, publisher)
    }
    for (const event of stream.pending) publish(event)
    this.publishers.set(process, publisher)
    void stream.sending?.then(() => {
      // The batch may have failed, which is counted as dropped.
      publisher.acknowledged -= countEvents(publisher) - publisher.positions.size
      publisher.hasUnknownBatch = false
      if (publisher.underWay === 0) publisher.sendingSince = undefined
    })
    const add = stream.add.bind(stream)
    stream.add = (event) => {
      publish(event)
      add(event)
    }
    const run = redis.run.bind(redis)
    redis.run = async (script, keys, args) => {
      if (script !== APPEND) return run(script, keys, args)
      const events = args.slice(3)
      if (process.isAlive) this.check(() => this.onSent(process, events.map(idOf)))
      publisher.underWay += events.length
      publisher.sendingSince = this.now()
      try {
        const reply = await run(script, keys, args)
        publisher.acknowledged += events.length
        return reply
      } catch (error) {
        publisher.failedBatches.add(idOf(events[0]))
        throw error
      } finally {
        publisher.underWay -= events.length
        publisher.sendingSince = undefined
      }
    }
  }

  onKilled(process: Process): void {
    this.publishers.delete(process)
  }

  /** A process sends a batch. */
  private onSent({ name }: Process, ids: readonly string[]): void {
    for (const id of ids) {
      if (this.sentIds.has(id)) throw new Violation('events', `${name} sends the event ${id} twice`)
      this.sentIds.add(id)
    }
  }

  /** Redis has stored a batch. */
  private onStored(texts: readonly unknown[]): void {
    const ids = texts.map(idOf)
    const [first = ''] = ids
    const publisher = this.owners.get(first)
    // The first events of a process are sent before its runtime is open.
    if (publisher === undefined) return
    if (!this.isNetworkExact && this.storedIds.has(first)) return
    const isLate = publisher.failedBatches.has(first)
    let latest = isLate ? 0 : publisher.latest
    for (const id of ids) {
      if (this.storedIds.has(id))
        throw new Violation('events', `the stream of the fleet has the event ${id} twice`)
      this.storedIds.add(id)
      this.storedCount++
      const position = publisher.positions.get(id) ?? 0
      if (position <= latest)
        throw new Violation('events', `the stream of the fleet has the event ${id} after a later one`)
      latest = position
    }
    publisher.latest = Math.max(publisher.latest, latest)
  }

  /** Checks that each event was sent, waits or is counted as dropped. Called when all promises have settled. */
  checkSent(nodes: readonly SimulatedNode[]): void {
    for (const { name, process } of nodes) {
      const publisher = process && this.publishers.get(process)
      if (publisher === undefined) continue
      const { stream, positions, underWay, hasUnknownBatch } = publisher
      const { pending } = stream
      const sendingMs = this.now() - (publisher.sendingSince ?? this.now())
      if (sendingMs > MAX_BATCH_MS)
        throw new Violation('hangs', `a batch of events of ${name} has not ended in ${sendingMs} ms`)
      const counted = countEvents(publisher)
      if (counted !== positions.size && !hasUnknownBatch)
        throw new Violation(
          'events',
          `${name} has published ${positions.size} events for the fleet, and ${counted} were sent, wait or were dropped`,
        )
      const [oldest] = pending
      const isWaiting = stream.redis.isUp && oldest !== undefined && underWay === 0
      if (!isWaiting) publisher.waiting = undefined
      else if (publisher.waiting?.id !== oldest.eventId)
        publisher.waiting = { id: oldest.eventId, since: this.now() }
      const waitedMs = this.now() - (publisher.waiting?.since ?? this.now())
      if (waitedMs > SENT_WITHIN_MS)
        throw new Violation('events', `${name} has not sent ${pending.length} events in ${waitedMs} ms`)
    }
  }

  /** Checks that processes which have closed while Redis was available have sent all of their events. */
  checkNoneLeft(nodes: readonly SimulatedNode[]): void {
    for (const { name, process } of nodes) {
      const { pending = [] } = (process && this.publishers.get(process)?.stream) ?? {}
      if (pending.length > 0)
        throw new Violation('events', `${name} is closed and has not sent ${pending.length} events`)
    }
  }
}
