import { describe, expect, it } from 'vitest'
import { migrateRecords } from '../../src/index.js'

describe('the migration of sessions', () => {
  const failed = {
    attempt_number: 1,
    timestamp: '2024-01-01T00:00:00Z',
    delay: 0,
    success: false,
    duration: 0.5,
    error: { type: 'E', message: 'm' },
  }
  const good = {
    attempt_number: 2,
    timestamp: '2024-01-01T00:00:01Z',
    delay: 0.5,
    success: true,
    duration: 1,
  }
  const session = {
    session_id: 'p_1_a',
    policy_id: 'p',
    operation: 'o',
    start_time: '2024-01-01T00:00:00Z',
    end_time: '2024-01-01T00:00:02Z',
    attempts: [failed, good],
    success: true,
    total_attempts: 2,
    total_duration: 2,
    retry_count: 1,
  }
  const read = async (change: object) => {
    const { report } = await migrateRecords(JSON.stringify({ ...session, ...change }))
    return report.problems.map(({ message }) => message).join()
  }

  it.each([
    [{ attempts: [{ ...failed, attempt_number: 0 }, good] }, 'attempts.0.attempt_number: '],
    [
      { attempts: [failed, { ...failed, attempt_number: 2 }] },
      'success: expected false, because no attempt succeeded, got true',
    ],
    [{ total_attempts: 5 }, 'total_attempts: expected 2, the number of attempts, got 5'],
    [{ end_time: undefined, total_attempts: 4 }, 'total_attempts: expected 2, the number of attempts, got 4'],
    [{ retry_count: 4 }, 'retry_count: expected 1, one less than total_attempts, got 4'],
  ])('rejects a session with contradictory fields, with the reason: %j', async (change, said) => {
    expect(await read(change)).toContain(`sessions: ${said}`)
  })

  const proxied = (number: number, outcome: string) => ({
    attempt_number: number,
    timestamp: failed.timestamp,
    outcome,
    delay_before: 0,
    latency: 1,
  })

  it.each([
    [{}],
    [{ total_attempts: undefined, retry_count: undefined }],
    [{ attempts: [proxied(0, 'failure'), proxied(1, 'success')] }],
    [{ attempts: [failed], success: false, total_attempts: 1, retry_count: 0 }],
    [{ end_time: undefined, attempts: [failed], success: false, total_attempts: 2, retry_count: 1 }],
  ])('accepts a consistent session: %j', async (change) => {
    expect(await read(change)).toBe('')
  })

  it('keeps the number of attempts of a session with a truncated list', async () => {
    const attempts = Array.from({ length: 1000 }, (_, i) => ({ ...failed, attempt_number: i + 1 }))
    const long = { ...session, attempts, success: false, total_attempts: 5000, retry_count: 4999 }
    const { records } = await migrateRecords(JSON.stringify(long))
    expect(records).toMatchObject([{ total_attempts: 5000, retry_count: 4999 }])
  })
})
