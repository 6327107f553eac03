// One further field in camel case made the migration take the seconds of a current record for milliseconds. The known fields decide.
import { expect, it } from 'vitest'
import { migrateRecords } from '../../src/migrate/migrate.js'

it('a current record with a further field in camel case is not changed', async () => {
  const { text } = await migrateRecords(
    JSON.stringify({
      session_id: 's',
      policy_id: 'p',
      operation: 'mail',
      start_time: '2026-01-29T12:00:00.000Z',
      end_time: '2026-01-29T12:00:02.000Z',
      attempts: [{ attempt_number: 1, timestamp: '2026-01-29T12:00:00.000Z', success: true }],
      traceId: 't1',
    }),
  )
  expect(JSON.parse(text)).toMatchObject({ total_duration: 2, traceId: 't1' })
  const again = await migrateRecords(text)
  expect(again.text).toBe(text)
  expect(again.report).toMatchObject({ converted: 0, unchanged: 1 })
})

it('a record in the TypeScript spelling has milliseconds, also beside a further field with an underscore', async () => {
  const { records } = await migrateRecords(
    JSON.stringify({
      schema: '1.2',
      sessionId: 's',
      policyId: 'p',
      operation: 'mail',
      startTime: '2026-01-29T12:00:00.000Z',
      endTime: '2026-01-29T12:00:02.000Z',
      totalDuration: 2000,
      attempts: [{ attemptNumber: 1, timestamp: '2026-01-29T12:00:00.000Z', success: true, duration: 2000 }],
      trace_id: 't1',
    }),
  )
  expect(records).toMatchObject([{ total_duration: 2, attempts: [{ duration: 2 }], trace_id: 't1' }])
})
