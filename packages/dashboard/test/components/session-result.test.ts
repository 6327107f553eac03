import { describe, expect, it } from 'vitest'
import { formatAttempts, formatResult } from '../../src/pages/sessions/outcome.js'

const session = (outcomes: readonly string[], stopped: string, success = false) =>
  ({
    attempts: outcomes.map((outcome, index) => ({ attempt_number: index + 1, outcome })),
    end_time: '2026-01-29T12:00:00.000Z',
    success,
    stopped,
  }) as never

describe('the result of a session', () => {
  it.each([
    [session(['failure', 'failure'], 'attempts_spent'), 'failed: attempts exhausted', '2 attempts'],
    [session(['failure', 'success'], 'succeeded', true), 'succeeded', '2 attempts'],
    [
      session(['circuit_open'], 'circuit_open'),
      'rejected: circuit open',
      '0 attempts, rejected: circuit open',
    ],
    [session([], 'bulkhead_full'), 'rejected: bulkhead full', '0 attempts, rejected: bulkhead full'],
    [session(['failure', 'circuit_open'], 'circuit_open'), 'failed: circuit open', '1 attempt'],
  ])('is shown in words (%#)', (record, result, attempts) => {
    expect(formatResult(record)).toBe(result)
    expect(formatAttempts(record)).toBe(attempts)
  })
})
