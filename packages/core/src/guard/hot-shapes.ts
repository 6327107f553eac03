import { onAbort } from '../abort.js'
import { AttemptContext } from '../attempt/attempt.js'
import { createDeferred } from '../deferred.js'
import { createCheapError } from '../errors.js'
import { AttemptLog } from '../execution/attempt-log.js'
import { Execution } from '../execution/execution.js'
import { ExecutionDeadline } from '../execution/execution-deadline.js'
import { FirstAttempt, type FirstAttemptTracker } from '../execution/first-attempt.js'
import { MemberSelection } from '../execution/member-selection.js'
import type { MemberPool } from '../pool/members/member-pool.js'
import { attachSession, type Session } from '../session/session.js'
import type { GuardExecutor } from './guard-executor.js'

/** A fraction, so that V8 lays out fields that hold times as doubles from the start and never changes the shape later. */
const SOME_TIME = 0.5

const nothing = (): void => {}

/** An execution as it is while an attempt runs, with the parts that were created for it. */
function executionOf(executor: GuardExecutor, parts: object): object {
  const execution = new Execution(executor, nothing, undefined, undefined, executor.settings.retry, undefined)
  void execution.promise
  execution.resumeFirstAttempt(undefined, 0, SOME_TIME, 0)
  return Object.assign(execution as object, { delay: SOME_TIME }, parts)
}

function firstAttemptOf(executor: GuardExecutor, tracker: FirstAttemptTracker | undefined): object {
  const first = new FirstAttempt(executor, nothing, undefined, undefined, undefined, 0, tracker)
  first.startedAt = SOME_TIME
  void createDeferred(first)
  return first
}

/**
 * An instance of each class that calls create, in the shapes it has on the way. V8 discards optimised code at a full garbage
 * collection when none of the objects it was compiled for is alive, as between two calls; the calls after it then cost
 * several times as much until the code is compiled again. As long as these are kept, so is the code.
 */
export function createHotShapes(executor: GuardExecutor): readonly object[] {
  const { settings } = executor
  const session: Session = { attempts: [], success: false, stopped: 'attempts_spent' }
  const errors = [
    new Error(''),
    createCheapError('CIRCUIT_OPEN', '', { retryAfter: SOME_TIME }),
    createCheapError('ATTEMPT_TIMEOUT', '', {}),
  ]
  for (const error of errors) attachSession(error, session, executor)
  const { signal } = new AbortController()
  onAbort(signal, { abort: nothing })
  const deadline = new ExecutionDeadline(
    new Execution(executor, nothing, undefined, [], settings.retry, undefined),
  )
  deadline.startedAt = SOME_TIME
  const members = new MemberSelection({} as MemberPool, settings.clock, undefined, undefined)
  return [
    ...errors,
    signal,
    new AttemptContext(1, undefined),
    new AttemptContext(1, { id: '', value: undefined }),
    firstAttemptOf(executor, undefined),
    firstAttemptOf(executor, {} as FirstAttemptTracker),
    Object.assign(executor.createAdmission(undefined) ?? {}, { startedAt: SOME_TIME, leaseEnd: SOME_TIME }),
    executionOf(executor, {}),
    executionOf(executor, { log: Object.assign(new AttemptLog(), { endedAt: SOME_TIME }) }),
    executionOf(executor, { deadline }),
    executionOf(executor, { releaseSlot: nothing }),
    executionOf(executor, { members }),
  ]
}
