import { runInMacrotask } from '../engine/microtasks.js'
import { EventLimitError, type Scheduler } from '../engine/scheduler.js'
import { Violation } from '../engine/violation.js'

/** Ends a history after its first violation. */
export class HistoryStop extends Error {}

/** A history of one store. */
interface StoreHistory {
  readonly scheduler: Scheduler
  /** A virtual time that is longer than the history needs. */
  readonly endMs: number
  /** The store, for messages. */
  readonly store: string
  readonly run: () => Promise<void>
  /** What the history does now, for messages. */
  readonly describeStep: () => string
  readonly report: (violation: Violation) => void
}

/** Runs a history in virtual time. Reports one that does not end. */
export async function runHistory({
  scheduler,
  endMs,
  store,
  run,
  describeStep,
  report,
}: StoreHistory): Promise<void> {
  let isDone = false
  let problem: Error | undefined
  try {
    await runInMacrotask(() => {
      run().then(
        () => {
          isDone = true
        },
        (error: Error) => {
          problem = error
        },
      )
      scheduler.runUntil(endMs)
    })
  } catch (error) {
    if (!(error instanceof EventLimitError)) throw error
    report(new Violation('hangs', `${error.message} in the history of ${store}, ${describeStep()}`))
  }
  if (problem !== undefined && !(problem instanceof HistoryStop)) throw problem
  if (!isDone) report(new Violation('hangs', `${describeStep()} of ${store} has not ended`))
}
