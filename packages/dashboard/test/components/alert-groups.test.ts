import { describe, expect, it } from 'vitest'
import type { WireErrorRecord } from '../../src/api/types.js'
import { FIRING_MS, groupAlerts } from '../../src/shell/alert-groups.js'

const NOW = Date.UTC(2026, 10, 16, 12)

const error = (operation: string, kind: string, ageMs: number, message = 'm') =>
  ({
    context: { operation },
    kind,
    message,
    timestamp: new Date(NOW - ageMs).toISOString(),
    session_id: `${operation}_${ageMs}`,
  }) as unknown as WireErrorRecord

describe('the alerts that fire', () => {
  it('are grouped by operation and kind with the newest message', () => {
    const groups = groupAlerts(
      [
        error('a', 'auth', 1000, 'new'),
        error('b', 'auth', 2000),
        error('a', 'auth', 3000, 'old'),
        error('a', 'config', 4000),
      ],
      NOW,
    )
    expect(groups.map(({ key, count }) => [key, count])).toEqual([
      ['a auth', 2],
      ['b auth', 1],
      ['a config', 1],
    ])
    expect(groups[0]).toMatchObject({ message: 'new', sessionId: 'a_1000', last: NOW - 1000 })
  })

  it('end a quarter of an hour after they were raised for the last time', () => {
    expect(groupAlerts([error('a', 'auth', FIRING_MS - 1)], NOW)).toHaveLength(1)
    expect(groupAlerts([error('a', 'auth', FIRING_MS)], NOW)).toEqual([])
  })
})
