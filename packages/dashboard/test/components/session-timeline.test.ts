import { describe, expect, it } from 'vitest'
import { timelineParts, timelineTicks } from '../../src/pages/sessions/timeline.js'

const START = Date.UTC(2026, 0, 29, 12)
const at = (ms: number) => new Date(START + ms).toISOString()
const attempt = (attempt_number: number, begun: number, delay: number, duration: number, outcome: string) =>
  ({
    attempt_number,
    timestamp: at(begun),
    delay,
    duration,
    outcome,
    success: outcome === 'success',
  }) as never

describe('the timeline of a session', () => {
  it('shows attempts and the waits between them', () => {
    const attempts = [attempt(1, 0, 0, 1, 'failure'), attempt(2, 3000, 2, 1, 'success')]
    expect(timelineParts({ start_time: at(0), attempts }, START + 4000)).toEqual([
      { kind: 'failure', attempt: 1, from: 0, to: 0.25, length: 1 },
      { kind: 'wait', attempt: 2, from: 0.25, to: 0.75, length: 2 },
      { kind: 'success', attempt: 2, from: 0.75, to: 1, length: 1 },
    ])
  })

  it('shows the current wait of a running call', () => {
    const attempts = [attempt(1, 0, 0, 1, 'timeout')]
    expect(timelineParts({ start_time: at(0), attempts, next_retry_time: at(5000) }, START + 2000)).toEqual([
      { kind: 'timeout', attempt: 1, from: 0, to: 0.2, length: 1 },
      { kind: 'wait', attempt: 2, from: 0.2, to: 1, length: 4 },
    ])
  })

  it('has an axis with round times from the start of the call', () => {
    const ticks = (ms: number) => {
      const attempts = [attempt(1, 0, 0, ms / 1000, 'failure')]
      return timelineTicks({ start_time: at(0), attempts }, START).map(({ seconds }) => seconds)
    }
    expect(ticks(4000)).toEqual([0, 1, 2, 3, 4])
    expect(ticks(700)).toEqual([0, 0.2, 0.4, 0.6000000000000001])
    expect(ticks(0)).toEqual([0, 0.001])
    expect(ticks(90_000)).toEqual([0, 20, 40, 60, 80])
  })

  it('names the member and the error of an attempt', () => {
    const failed = {
      ...(attempt(1, 0, 0, 1, 'failure') as object),
      proxy_id: 'ams-1',
      error: { type: 'Error', message: 'reset' },
    }
    const [part] = timelineParts({ start_time: at(0), attempts: [failed as never] }, START)
    expect(part?.label).toBe('ams-1 · Error: reset')
  })

  it('stays within its bounds after the clock was set back', () => {
    const attempts = [attempt(1, 0, 0, 1, 'failure'), attempt(2, -5000, 1, 0, 'circuit_open')]
    for (const { from, to } of timelineParts({ start_time: at(0), attempts }, START)) {
      expect(from).toBeGreaterThanOrEqual(0)
      expect(to).toBeLessThanOrEqual(1)
      expect(to).toBeGreaterThanOrEqual(from)
    }
  })
})
