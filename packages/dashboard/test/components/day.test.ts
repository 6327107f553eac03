import { describe, expect, it } from 'vitest'
import { startOfDay } from '../../src/pages/dead-letters/day.js'

describe('the start of a day', () => {
  it('is midnight in UTC, today and yesterday', () => {
    const now = Date.UTC(2026, 2, 1, 0, 30)
    expect(new Date(startOfDay(now, 0, 'utc')).toISOString()).toBe('2026-03-01T00:00:00.000Z')
    expect(new Date(startOfDay(now, 1, 'utc')).toISOString()).toBe('2026-02-28T00:00:00.000Z')
  })

  it('is midnight in local time', () => {
    const day = new Date(startOfDay(Date.UTC(2026, 2, 1, 12), 0, 'local'))
    expect([day.getHours(), day.getMinutes()]).toEqual([0, 0])
  })
})
