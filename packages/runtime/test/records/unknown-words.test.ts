import { describe, expect, it } from 'vitest'
import { auditText, eventText, sessionText } from '../../../records/src/json-writers.js'
import { auditCodec, eventCodec, migrateRecords, sessionCodec, toWire } from '../../src/index.js'

/** Records of a later version, which uses words that this one does not know. */
const session = {
  schema: '1.3',
  session_id: 'p_1_a',
  policy_id: 'p',
  policy_ids: ['p'],
  operation: 'o',
  correlation_id: 'c',
  start_time: '2026-01-29T12:00:00.000Z',
  end_time: '2026-01-29T12:00:01.000Z',
  attempts: [
    {
      attempt_number: 1,
      timestamp: '2026-01-29T12:00:00.000Z',
      delay: 0,
      success: false,
      outcome: 'throttled',
      duration: 1,
    },
  ],
  success: false,
  stopped: 'quota "spent"',
  total_attempts: 1,
  total_duration: 1,
  retry_count: 0,
}
const event = {
  schema: '1.3',
  event_id: 'evt_1',
  event_type: 'limit_changed',
  timestamp: '2026-01-29T12:00:00.000Z',
  correlation_id: 'c',
  component: 'limits',
}
const audit = {
  schema: '1.3',
  audit_id: 'a',
  timestamp: '2026-01-29T12:00:00.000Z',
  actor: 'ann',
  action: 'chaos.start',
  target: 'x',
}

describe('enum values of a later version', () => {
  it('are preserved as text by the codecs of records', () => {
    const read = sessionCodec.decode(session)
    expect(read.stopped).toBe('quota "spent"')
    expect(read.attempts[0]?.outcome).toBe('throttled')
    expect(toWire(read)).toEqual(session)
    expect(toWire(eventCodec.decode(event))).toEqual(event)
    expect(toWire(auditCodec.decode(audit))).toEqual(audit)
  })

  it('are preserved as text in the stores, with any characters', () => {
    for (const [text, wire] of [
      [sessionText, session],
      [eventText, event],
      [auditText, audit],
    ] as const)
      expect(JSON.parse(text.write(text.revive(wire) as never))).toEqual(wire)
  })

  it('are preserved by the migration of records with a version stamp, and reported in others', async () => {
    const { records, report } = await migrateRecords(
      [session, event].map((r) => JSON.stringify(r)).join('\n'),
    )
    expect(records).toEqual([session, event])
    expect(report).toMatchObject({ unchanged: 2, problems: [] })
    const foreign = [session, event]
      .map((record) => JSON.stringify({ ...record, schema: undefined }))
      .join('\n')
    const { report: rejected } = await migrateRecords(foreign)
    expect(rejected.problems.map(({ message }) => message.slice(0, 40))).toEqual([
      'sessions: stopped: expected one of succe',
      'events: event_type: expected one of retr',
    ])
  })

  it('do not change the stamp of a record of version 1.1', async () => {
    const { records } = await migrateRecords(JSON.stringify({ ...event, schema: '1.1', event_type: 'alert' }))
    expect(records[0]?.schema).toBe('1.1')
  })
})
