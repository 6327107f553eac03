import type { AuditAction, EventType, RetryEvent } from '@holdfast/records'
import type { Store } from '@holdfast/store'
import type { Clock, Random } from 'holdfast'

/** A logger with the interface of pino: fields first, then the message. */
export interface Logger {
  /** Writes an entry of the level debug. */
  debug(fields: object, message: string): void
  /** Writes an entry of the level info. */
  info(fields: object, message: string): void
  /** Writes an entry of the level warn. */
  warn(fields: object, message: string): void
  /** Writes an entry of the level error. */
  error(fields: object, message: string): void
}

/** An event without the fields that `emit` adds: id, time and schema. */
export type EventInput = { eventType: EventType; component: RetryEvent['component'] } & Partial<
  Omit<RetryEvent, 'eventType' | 'component' | 'eventId' | 'timestamp' | 'schema'>
>

/** The person or program that made a change, and the reason. */
export interface Actor {
  /** Who makes the change. */
  by?: string | undefined
  /** Why the change is made. */
  reason?: string | undefined
}

/** The context that every part of the runtime gets. */
export interface RuntimeContext {
  /** The clock. */
  readonly clock: Clock
  /** The source of random numbers. */
  readonly random: Random
  /** The logger. */
  readonly logger: Logger
  /** The store of all records. */
  readonly store: Store
  /** Whether stack traces are recorded. */
  isDebug(): boolean
  /**
   * Returns a copy without secrets. A value that cannot be copied (circular, functions) is replaced by a string that says
   * so.
   */
  redact<T>(value: T): T
  /** Records an event and delivers it to listeners. */
  emit(event: EventInput): RetryEvent
  /** Writes an audit record of a change. */
  audit(
    actor: Actor | undefined,
    action: AuditAction,
    target: string,
    change?: { before?: unknown; after?: unknown },
  ): Promise<void>
  /** Writes one line to stderr, for failures that must be reported but must not fail a call. */
  warn(line: string): void
}
