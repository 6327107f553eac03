import { sessionOf } from 'holdfast'
import type { Kit } from '../kit.js'
import type { DeadLetter } from '../records/dead-letter.js'
import { SCHEMA } from '../records/session.js'
import { messageOf, stackOf, typeOf } from '../records/summary.js'

/** What failed, as whoever hands it in says it. */
export interface DeadLetterInput {
  /** The operation that failed, and whose handler replays it. */
  operation: string
  /** What it was about. */
  itemId: string
  /** All that a replay needs: any JSON but null. Stored exactly as given. */
  payload: unknown
  /** Why it failed. @defaultValue an error that says that none was given */
  error?: unknown
  /** How often it was tried again. @defaultValue what a guard remembers of the error */
  retryCount?: number | undefined
  /** Given to the handler, the same for every replay. @defaultValue one of its own */
  idempotencyKey?: string | undefined
  /** The policy it failed under. @defaultValue the operation's */
  policyId?: string | undefined
  sessionId?: string | undefined
  correlationId?: string | undefined
}

type Details = DeadLetter['errorDetails']

/** A stack for what has none: that of whoever keeps it. */
const stackHere = (): string =>
  new Error('nothing was thrown that has a stack; this is where it was kept').stack ?? ''

/** What is kept of an error: with a stack always, and without anything secret. */
export function detailsOf(error: unknown, kit: Pick<Kit, 'redact'>, retries?: number): Details {
  const redact = <T>(value: T): T => kit.redact(value)
  return {
    errorType: error === undefined ? 'Error' : typeOf(error, redact),
    errorMessage: error === undefined ? 'no error was given' : messageOf(error, redact),
    stackTrace: stackOf(error, redact) ?? stackHere(),
    retryCount: retries ?? Math.max(0, (sessionOf(error)?.attempts.length ?? 1) - 1),
  }
}

/** An entry that waits to be replayed. */
export function newEntry(
  {
    operation,
    itemId,
    error,
    retryCount,
    policyId,
    sessionId,
    correlationId,
  }: DeadLetterInput & { policyId: string },
  made: { id: string; key: string; at: Date; payload: unknown },
  kit: Pick<Kit, 'redact'>,
): DeadLetter {
  return {
    schema: SCHEMA,
    dlqId: made.id,
    itemId,
    operationType: operation,
    status: 'pending',
    originalPayload: made.payload,
    errorDetails: detailsOf(error, kit, retryCount),
    createdAt: made.at,
    lastAttempt: made.at,
    replayedAt: null,
    processed: false,
    idempotencyKey: made.key,
    policyId,
    ...(sessionId !== undefined && { sessionId }),
    ...(correlationId !== undefined && { correlationId }),
  }
}
