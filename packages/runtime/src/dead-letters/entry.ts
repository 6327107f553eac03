import type { RuntimeContext } from '@holdfast/config'
import { type DeadLetter, errorMessageOf, errorStackOf, errorTypeOf, SCHEMA } from '@holdfast/records'
import { sessionOf } from 'holdfast'

/** A failed item, as `enqueue` takes it. */
export interface DeadLetterInput {
  /** The operation that failed. Its handler replays the entry. */
  operation: string
  /** The item that the call was about. */
  itemId: string
  /** Everything that a replay needs: any JSON except null. Stored unchanged. */
  payload: unknown
  /** The error. @defaultValue an error that says that none was given */
  error?: unknown
  /** The number of retries. @defaultValue the number that a guard recorded for the error */
  retryCount?: number | undefined
  /** Passed to the handler, the same for every replay. @defaultValue a random key */
  idempotencyKey?: string | undefined
  /** The policy that applied. @defaultValue the operation's policy */
  policyId?: string | undefined
  /** The session of the failed call. */
  sessionId?: string | undefined
  /** The correlation id of the failed call. */
  correlationId?: string | undefined
}

/** The payload of a replay: the edited one, if there is one. */
export const replayPayloadOf = ({ originalPayload, editedPayload }: DeadLetter): unknown =>
  editedPayload ?? originalPayload

/** The stack of the caller, for errors without one. */
const currentStack = (): string =>
  new Error('the error has no stack; this is where it was stored').stack ?? ''

/** The stored form of an error: redacted, and always with a stack. */
export function toErrorDetails(
  error: unknown,
  runtime: Pick<RuntimeContext, 'redact'>,
  retries?: number,
): DeadLetter['errorDetails'] {
  const redact = <T>(value: T): T => runtime.redact(value)
  return {
    errorType: error === undefined ? 'Error' : errorTypeOf(error, redact),
    errorMessage: error === undefined ? 'no error was given' : errorMessageOf(error, redact),
    stackTrace: errorStackOf(error, redact) ?? currentStack(),
    retryCount: retries ?? Math.max(0, (sessionOf(error)?.attempts.length ?? 1) - 1),
  }
}

/** Creates a pending entry. */
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
