import type { RetrySession } from '@holdfast/records'
import { Violation } from '../engine/violation.js'
import type { CallReference } from './call-reference.js'

/** Durations are measured and rounded, and the speed of a clock can change meanwhile. */
const TOLERANCE_MS = 60

/** Compares the stored session of a call with its attempts. */
export function compareSession(session: RetrySession, call: CallReference): void {
  const { history, name, planned } = call
  const fail = (what: string, got: unknown, expected: unknown): never => {
    throw new Violation(
      'policies',
      `the session of ${name} has ${what} ${String(got)}, expected ${String(expected)}`,
    )
  }
  const compare = (what: string, got: unknown, expected: unknown) => {
    if (got !== expected) fail(what, got, expected)
  }
  compare('operation', session.operation, planned.operation)
  compare('policy', session.policyId, call.policyId)
  compare('end', session.stopped, call.stopped)
  compare('success', session.success, call.stopped === 'succeeded')
  compare('attempts', session.attempts.length, history.length)
  compare('total attempts', session.totalAttempts, history.length)
  compare('retries', session.retryCount, Math.max(0, (history.at(-1)?.number ?? 1) - 1))
  const isServed = planned.fallback !== undefined && call.wasServed
  compare('answer', session.served, isServed ? 'fallback' : undefined)
  for (const [at, { number, outcome, delay, duration }] of history.entries()) {
    const attempt = session.attempts[at]
    compare(`number of attempt ${at + 1}`, attempt?.attemptNumber, number)
    compare(`outcome of attempt ${at + 1}`, attempt?.outcome, outcome)
    if (Math.abs(Number(attempt?.delay) - delay) > 0.01)
      fail(`delay of attempt ${at + 1}`, attempt?.delay, delay)
    if (Math.abs(Number(attempt?.duration) - duration) > TOLERANCE_MS)
      fail(`duration of attempt ${at + 1}`, attempt?.duration, duration)
  }
}
