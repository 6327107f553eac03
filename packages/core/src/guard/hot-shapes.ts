import { onAbort } from '../abort.js'
import { AttemptContext } from '../attempt/attempt.js'
import { Bulkhead } from '../bulkhead/bulkhead.js'
import { Slot } from '../bulkhead/slot.js'
import { createDeferred } from '../deferred.js'
import { createCheapError } from '../errors.js'
import { AttemptLog } from '../execution/attempt-log.js'
import { Execution } from '../execution/execution.js'
import { ExecutionDeadlines } from '../execution/execution-deadlines.js'
import { FirstAttempt, type FirstAttemptTracker } from '../execution/first-attempt.js'
import { MemberSelection } from '../execution/member-selection.js'
import type { MemberPool } from '../pool/members/member-pool.js'
import { attachSession, type Session } from '../session/session.js'
import type { GuardExecutor } from './guard-executor.js'

/** A fraction, so that V8 stores fields with times as doubles from the start and does not change the shape later. */
const SOME_TIME = 0.5

const nothing = (): void => {}

/** Creates an execution in the shape it has while an attempt runs, with the given parts. */
function createExecutionShape(executor: GuardExecutor, parts: object): object {
  const execution = new Execution(executor, nothing, undefined, undefined, executor.settings.retry, undefined)
  void createDeferred(execution)
  execution.resumeFirstAttempt(undefined, 0, SOME_TIME, 0)
  return Object.assign(execution as object, { delay: SOME_TIME }, parts)
}

function createFirstAttemptShape(executor: GuardExecutor, tracker: FirstAttemptTracker | undefined): object {
  const first = new FirstAttempt(executor, nothing, undefined, undefined, undefined, 0, tracker)
  first.startedAt = SOME_TIME
  void createDeferred(first)
  return first
}

/**
 * Creates an instance of each class that calls use, in the shapes it has during a call. At a full garbage collection V8 discards
 * optimised code when no object of the shapes it was compiled for is alive, as between two calls; the next calls then take
 * several times as long until the code is compiled again. While these objects are alive, V8 keeps the code.
 */
export function createHotShapes(executor: GuardExecutor): readonly object[] {
  const { settings } = executor
  const session: Session = { attempts: [], success: false, stopped: 'attempts_spent' }
  const errors = [
    new Error(''),
    createCheapError('CIRCUIT_OPEN', '', { retryAfter: SOME_TIME }),
    createCheapError('ATTEMPT_TIMEOUT', '', {}),
  ]
  for (const error of errors) attachSession(error, session, executor, false)
  const { signal } = new AbortController()
  onAbort(signal, { abort: nothing })
  const execution = new Execution(executor, nothing, undefined, [], settings.retry, undefined)
  const deadlines = new ExecutionDeadlines(execution, settings)
  deadlines.startedAt = SOME_TIME
  deadlines.total = SOME_TIME
  const owner = { onSlot: nothing, onSlotRejected: nothing }
  const slot = new Slot(new Bulkhead(1, 0), owner, settings.clock)
  const members = new MemberSelection({} as MemberPool, settings.clock, undefined, undefined)
  return [
    ...errors,
    signal,
    new AttemptContext(1, undefined),
    new AttemptContext(1, { id: '', value: undefined }),
    createFirstAttemptShape(executor, undefined),
    createFirstAttemptShape(executor, {} as FirstAttemptTracker),
    Object.assign(executor.createAdmission(undefined, undefined) ?? {}, {
      startedAt: SOME_TIME,
      leaseEnd: SOME_TIME,
    }),
    createExecutionShape(executor, {}),
    createExecutionShape(executor, { log: Object.assign(new AttemptLog(execution), { endedAt: SOME_TIME }) }),
    createExecutionShape(executor, { deadlines }),
    createExecutionShape(executor, { slot }),
    createExecutionShape(executor, { members }),
  ]
}
