import type { RuntimeContext } from '@holdfast/config'
import { type DeadLetter, errorMessageOf, errorStackOf, errorTypeOf, SCHEMA } from '@holdfast/records'
import { sessionOf } from 'holdfast'

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

type ErrorDetails = DeadLetter['errorDetails']

/** A stack for what has none: that of whoever keeps it. */
const currentStack = (): string =>
  new Error('nothing was thrown that has a stack; this is where it was kept').stack ?? ''

/** What is kept of an error: with a stack always, and without anything secret. */
export function toErrorDetails(
  error: unknown,
  runtime: Pick<RuntimeContext, 'redact'>,
  retries?: number,
): ErrorDetails {
  const redact = <T>(value: T): T => runtime.redact(value)
  return {
    errorType: error === undefined ? 'Error' : errorTypeOf(error, redact),
    errorMessage: error === undefined ? 'no error was given' : errorMessageOf(error, redact),
    stackTrace: errorStackOf(error, redact) ?? currentStack(),
    retryCount: retries ?? Math.max(0, (sessionOf(error)?.attempts.length ?? 1) - 1),
  }
}

/** An entry that waits to be replayed. */
export function createEntry(
  {
    operation,
    itemId,
    error,
    retryCount,
    policyId,
    sessionId,
    correlationId,
  }: DeadLetterInput & { policyId: string },
  identity: { id: string; key: string; at: Date; payload: unknown },
  runtime: Pick<RuntimeContext, 'redact'>,
): DeadLetter {
  return {
    schema: SCHEMA,
    dlqId: identity.id,
    itemId,
    operationType: operation,
    status: 'pending',
    originalPayload: identity.payload,
    errorDetails: toErrorDetails(error, runtime, retryCount),
    createdAt: identity.at,
    lastAttempt: identity.at,
    replayedAt: null,
    processed: false,
    idempotencyKey: identity.key,
    policyId,
    ...(sessionId !== undefined && { sessionId }),
    ...(correlationId !== undefined && { correlationId }),
  }
}
