import type { CompiledOperation, CompiledPolicy } from './compiled-operation.js'
import { TrackedFirstAttempt } from './first-attempt.js'
import type { RecordingObserver } from './recording-observer.js'
import { type FailedAttemptInfo, RuntimeCall, type SessionDraft } from './runtime-call.js'

const nothing = (): void => {}

/** The fields of a call that failed, in the order in which they are set. */
interface FailedFields {
  current: CompiledPolicy | undefined
  draft: SessionDraft | undefined
  pending: FailedAttemptInfo | undefined
}

/**
 * An instance of each class that calls of a runtime create, in the shapes it has on the way: as long as they are kept, V8
 * keeps the code that was compiled for them over a full garbage collection between calls.
 */
export function createHotShapes(recorder: RecordingObserver, line: CompiledOperation): readonly object[] {
  const callOf = () => new RuntimeCall(recorder, line, nothing, undefined)
  const fields: FailedFields = { current: line.initialPolicy, draft: undefined, pending: undefined }
  return [
    new TrackedFirstAttempt(recorder, line, undefined),
    callOf(),
    Object.assign(callOf() as object, fields),
  ]
}
