import type { CallObservers } from '../observation/call-observers.js'
import type { FailedAttemptInfo, SessionDraft } from '../observation/observed-call.js'
import type { CompiledOperation, CompiledPolicy } from './compiled-operation.js'
import { TrackedFirstAttempt } from './first-attempt.js'
import { RuntimeCall } from './runtime-call.js'

const nothing = (): void => {}

/** The fields that a failing call sets, in the order in which it sets them. */
interface FailedFields {
  current: CompiledPolicy | undefined
  draft: SessionDraft | undefined
  pending: FailedAttemptInfo | undefined
}

/**
 * Creates an instance of each class that a call creates, in each of its hidden classes. While they are referenced, V8 keeps
 * the code it compiled for these hidden classes when a full garbage collection runs between calls.
 */
export function createHotShapes(observers: CallObservers, operation: CompiledOperation): readonly object[] {
  const callOf = () => new RuntimeCall(observers, operation, nothing, undefined)
  const fields: FailedFields = { current: operation.initialPolicy, draft: undefined, pending: undefined }
  return [
    new TrackedFirstAttempt(observers, operation, undefined),
    callOf(),
    Object.assign(callOf() as object, fields),
  ]
}
