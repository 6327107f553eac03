import { type Draft, type Failure, RuntimeCall } from './call.js'
import { TrackedFirstAttempt } from './first-attempt.js'
import type { Line, LineRules } from './line.js'
import type { Recorder } from './recorder.js'

const nothing = (): void => {}

/** The fields of a call that failed, in the order in which they are set. */
interface FailedFields {
  current: LineRules | undefined
  draft: Draft | undefined
  pending: Failure | undefined
}

/**
 * An instance of each class that calls of a runtime create, in the shapes it has on the way: as long as they are kept, V8
 * keeps the code that was compiled for them over a full garbage collection between calls.
 */
export function createHotShapes(recorder: Recorder, line: Line): readonly object[] {
  const callOf = () => new RuntimeCall(recorder, line, nothing, undefined)
  const fields: FailedFields = { current: line.base, draft: undefined, pending: undefined }
  return [
    new TrackedFirstAttempt(recorder, line, undefined),
    callOf(),
    Object.assign(callOf() as object, fields),
  ]
}
