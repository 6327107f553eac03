import type { RetrySession } from '@holdfast/records'
import type { Clock } from 'holdfast'
import type { ActiveCalls } from '../observation/active-calls.js'
import type { CallEnd, CallObserver } from '../observation/call-observer.js'
import type { FailedAttemptInfo, FailingCall } from '../observation/observed-call.js'
import type { RecordFormatter } from '../observation/session-draft.js'
import { createSessionRecord } from './session.js'

/** Records the session of each call that failed at least once, when the call ends. */
export class SessionRecorder implements CallObserver {
  private readonly clock: Clock
  private readonly formatter: RecordFormatter
  private readonly add: (record: RetrySession) => void

  constructor(clock: Clock, formatter: RecordFormatter, add: (record: RetrySession) => void) {
    this.clock = clock
    this.formatter = formatter
    this.add = add
  }

  onRetryScheduled({ draft }: FailingCall, _: FailedAttemptInfo | undefined, delayMs: number): void {
    draft.nextRetryTime = this.clock.wall() + delayMs
  }

  onEnd(call: FailingCall, end: CallEnd): void {
    if (end.isShed) return
    this.add(createSessionRecord(call, end, end.at, this.formatter))
  }

  /** The session of a call that is still running. */
  describeRunning(call: FailingCall): RetrySession {
    return createSessionRecord(call, undefined, this.clock.wall(), this.formatter)
  }
}

/** The active call with this session id. */
export function findBySessionId(active: ActiveCalls, sessionId: string): FailingCall | undefined {
  for (const call of active.failingCalls()) if (call.draft.sessionId === sessionId) return call
  return undefined
}
