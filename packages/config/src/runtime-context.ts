import type { AuditAction, EventType, RetryEvent } from '@holdfast/records'
import type { Store } from '@holdfast/store'
import type { Clock, Random } from 'holdfast'

/** A logger of pino's shape: fields first, then the message. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** An event before it has an id, a time and a correlation id of its own. */
export type EventInput = { eventType: EventType; component: RetryEvent['component'] } & Partial<
  Omit<RetryEvent, 'eventType' | 'component' | 'eventId' | 'timestamp' | 'schema'>
>

/** Who acted, and why. */
export interface Actor {
  by?: string | undefined
  reason?: string | undefined
}

/** What every part of the runtime is given. */
export interface RuntimeContext {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly store: Store
  /** Whether stack traces are shown. */
  isDebug(): boolean
  /** A copy without secrets; anything that cannot be copied (circular, functions) becomes a word that says so. */
  redact<T>(value: T): T
  /** Records and tells of an event. */
  emit(event: EventInput): RetryEvent
  /** Writes down who changed what. */
  audit(
    actor: Actor | undefined,
    action: AuditAction,
    target: string,
    change?: { before?: unknown; after?: unknown },
  ): Promise<void>
  /** One line on stderr: for what must be said though nothing may fail because of it. */
  warn(line: string): void
}
