import { hostname } from 'node:os'
import type { Actor, EventInput, Logger, RuntimeContext } from '@holdfast/config'
import {
  type AuditAction,
  type AuditRecord,
  type CircuitBreakerEvent,
  errorMessageOf,
  freezeCopy,
  makeRedactor,
  type RedactOptions,
  type RetryEvent,
  type RetrySession,
  randomString,
  SCHEMA,
  SortedIds,
  ThrottledWarnings,
} from '@holdfast/records'
import type { Store } from '@holdfast/store'
import type { Clock, Random } from 'holdfast'
import { backgroundClock } from 'holdfast/internal'
import { EventBus } from '../events/bus.js'
import { Outbox } from '../events/outbox.js'

/** How many records of a kind can wait for the store. */
const OUTBOX_CAPACITY = 10_000

const SILENT_LOGGER: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** What names of this process in the store contain. */
export interface ProcessIdentity {
  readonly hostname: string
  readonly pid: number
}

export interface StoreBackedContextOptions {
  clock: Clock
  random: Random
  logger: Logger | undefined
  store: Store
  /** @defaultValue that of the operating system */
  identity?: ProcessIdentity | undefined
}

/** The context that every part of a runtime gets, with the outboxes through which records reach the store. */
export class StoreBackedContext implements RuntimeContext {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly store: Store
  readonly bus: EventBus
  readonly sessions: Outbox<RetrySession>
  readonly events: Outbox<RetryEvent>
  readonly breakerEvents: Outbox<CircuitBreakerEvent>
  readonly audits: Outbox<AuditRecord>
  /** The name of this process among several that write to one store. */
  readonly node: string
  readonly identity: ProcessIdentity
  private readonly eventIds: SortedIds
  private readonly auditIds: SortedIds
  private redactValue = makeRedactor()
  private isDebugEnabled = false
  /** When each line was last written to stderr, so that it is not repeated within a minute. */
  private readonly lastWarnedAt = new Map<string, number>()

  constructor({ clock, random, logger, store, identity }: StoreBackedContextOptions) {
    // Timers of the runtime serve many calls, so they run outside the async context of any of them.
    this.clock = backgroundClock(clock)
    this.random = random
    this.logger = logger ?? SILENT_LOGGER
    this.store = store
    this.identity = identity ?? { hostname: hostname(), pid: process.pid }
    this.node = `${this.identity.hostname}:${this.identity.pid}:${randomString(random, 6)}`
    const dropWarnings = this.createThrottledWarnings()
    this.bus = new EventBus((count, type) => {
      dropWarnings.warn(`${count} events were dropped because a listener to ${type} could not keep up`)
      this.warnDropped('events', count, { listener: type })
    })
    this.eventIds = new SortedIds('evt', clock, random)
    this.auditIds = new SortedIds('aud', clock, random)
    this.sessions = this.createOutbox('sessions', (records) => store.sessions.append(records))
    this.events = this.createOutbox('events', (records) => store.events.append(records))
    this.breakerEvents = this.createOutbox('breaker events', (records) => store.breakerEvents.append(records))
    this.audits = this.createOutbox('audit records', (records) => store.audit.append(records))
  }

  /** Applies new settings. */
  configure(settings: { redact: RedactOptions; debug: boolean }): void {
    this.redactValue = makeRedactor(settings.redact)
    this.isDebugEnabled = settings.debug
  }

  isDebug(): boolean {
    return this.isDebugEnabled
  }

  redact<T>(value: T): T {
    return this.redactValue(value)
  }

  emit(input: EventInput): RetryEvent {
    // Each input is created for one `emit`, so it becomes the event itself: a copy would double the cost.
    const event = input as RetryEvent
    event.schema = SCHEMA
    event.eventId = this.eventIds.next()
    event.timestamp = new Date(this.clock.wall())
    event.correlationId ??= `corr_${randomString(this.random, 12)}`
    // Records and listeners share the context and the error, so these are frozen. Each listener gets its own event object.
    if (event.context) event.context = freezeCopy(event.context)
    if (event.error) event.error = freezeCopy(event.error)
    // A full outbox must not drop its own `events_dropped` event, because each drop would cause another event.
    if (event.eventType !== 'events_dropped' || this.events.hasRoom) this.events.add(event)
    this.bus.publish(event)
    return event
  }

  async audit(
    actor: Actor | undefined,
    action: AuditAction,
    target: string,
    change: { before?: unknown; after?: unknown } = {},
  ): Promise<void> {
    const record: AuditRecord = {
      schema: SCHEMA,
      auditId: this.auditIds.next(),
      timestamp: new Date(this.clock.wall()),
      actor: actor?.by || 'unknown',
      action,
      target,
    }
    if (actor?.reason !== undefined) record.reason = this.redact(actor.reason)
    if (change.before !== undefined) record.before = this.redact(change.before)
    if (change.after !== undefined) record.after = this.redact(change.after)
    this.audits.add(record)
    // The record is stored before the caller continues. While the store is unavailable it stays in the outbox, and the
    // change remains active.
    await this.audits.flush()
  }

  warn(line: string): void {
    const now = this.clock.now()
    const text = this.redact(line)
    const last = this.lastWarnedAt.get(text)
    if (last !== undefined && now - last < 60_000) return
    if (this.lastWarnedAt.size > 1000) this.lastWarnedAt.clear()
    this.lastWarnedAt.set(text, now)
    console.error(text.startsWith('holdfast: ') ? text : `holdfast: ${text}`)
  }

  /** Writes all waiting records to the store. */
  async flush(): Promise<void> {
    const outboxes = [this.sessions, this.events, this.breakerEvents, this.audits]
    await Promise.all(outboxes.map((outbox) => outbox.flush()))
  }

  async close(): Promise<void> {
    await Promise.all([this.sessions.close(), this.breakerEvents.close(), this.audits.close()])
    await this.events.close()
  }

  private createOutbox<T>(name: string, writeBatch: (records: readonly T[]) => Promise<void>): Outbox<T> {
    const warnings = this.createThrottledWarnings()
    return new Outbox<T>({
      clock: this.clock,
      writeBatch,
      capacity: OUTBOX_CAPACITY,
      onFailed: (error) => {
        this.warn(`${name} could not be written yet, they stay in memory: ${errorMessageOf(error)}`)
        this.emit({
          eventType: 'storage_warning',
          component: 'retry_manager',
          context: { store: this.store.kind, records: name, error: this.redact(errorMessageOf(error)) },
        })
      },
      onDropped: (count) => {
        warnings.warn(`${count} ${name} were dropped because the store could not keep up`)
        this.warnDropped(name, count)
      },
    })
  }

  private createThrottledWarnings(): ThrottledWarnings {
    return new ThrottledWarnings(this.clock, (line) => this.warn(line))
  }

  private warnDropped(records: string, count: number, more: object = {}): void {
    this.emit({
      eventType: 'events_dropped',
      component: 'retry_manager',
      context: { records, dropped: count, ...more },
    })
  }
}
