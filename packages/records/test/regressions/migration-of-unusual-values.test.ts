// One line with a field `toString` that is not a function, or with half of a surrogate pair in a name, ended the whole migration.
import { expect, it } from 'vitest'
import { migrateRecords } from '../../src/migrate/migrate.js'

const good = JSON.stringify({
  event_id: 'e1',
  event_type: 'circuit_opened',
  timestamp: '2026-01-29T12:00:00.000Z',
  operation: 'mail',
})

it.each([
  { event_id: 'e2', event_type: { toString: '' } },
  { event_id: 'e3', event_type: 'retry_attempt', component: { toString: 1 } },
  { event_id: { toString: '' }, event_type: 'retry_attempt' },
  { session_id: { toString: '' }, attempts: [{ error: { type: { toString: '' } } }] },
  { policy_id: '\ud800', state: 'open', failure_count: 1, failure_threshold: 5 },
])('a migration continues after the record %j', async (record) => {
  const { report } = await migrateRecords([JSON.stringify(record), good].join('\n'))
  expect(report.integrity.in).toBe(2)
  expect(report.integrity.in).toBe(report.integrity.out + report.integrity.rejected)
  expect(report.problems.every(({ line }) => line === 1)).toBe(true)
})

it('a migration continues after a record whose id is nested too deeply', async () => {
  const depth = 20_000
  const nested = `{"event_type":"retry_attempt","event_id":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const { report } = await migrateRecords([nested, good].join('\n'))
  expect(report.integrity).toEqual({ in: 2, out: 1, rejected: 1 })
})
