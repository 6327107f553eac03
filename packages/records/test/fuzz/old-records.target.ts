import fc from 'fast-check'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { migrateRecords } from '../../src/migrate/migrate.js'

/** A value in lines that are not valid JSON, which no message can repeat. */
const SECRET = 'hunter2'

const NAMES = [
  'session_id',
  'sessionId',
  'attempts',
  'attempt_number',
  'event_id',
  'event_type',
  'time_window_start',
  'dlq_id',
  'email_id',
  'error_type',
  'state',
  'failure_count',
  'timestamp',
  'start_time',
  'end_time',
  'policy_id',
  'operation',
  'success',
  'delay_before',
  'duration',
  'final_error',
  'context',
  'schema',
  'original_payload',
  'error_details',
  '__proto__',
  'constructor',
]
const value = fc.oneof(
  fc.constantFrom<unknown>(
    0,
    1,
    -1,
    1e308,
    1769688000,
    true,
    false,
    null,
    '',
    'a',
    '1.1',
    'open',
    'RETRY_FAILED',
    '2026-01-29T12:00:00.000Z',
    '2026-01-29 12:00:00',
    'TimeoutError: x',
    [],
    {},
    [{ attempt_number: 0, latency: 1 }],
    [{ attempt_number: 1, success: true, timestamp: '2026-01-29T12:00:00.000Z' }],
  ),
  fc.jsonValue({ maxDepth: 2 }),
)
const BASES = [
  {},
  {
    session_id: 's',
    policy_id: 'p',
    operation: 'o',
    start_time: '2026-01-29T12:00:00.000Z',
    end_time: '2026-01-29T12:00:05.000Z',
    attempts: [{ attempt_number: 1, timestamp: '2026-01-29T12:00:00.000Z', success: true }],
    success: true,
  },
  { event_id: 'e', event_type: 'retry_failure', timestamp: '2026-01-29T12:00:00.000Z', policy_id: 'p' },
  {
    dlq_id: 'd',
    email_id: 'i',
    operation_type: 'o',
    original_payload: {},
    created_at: '2026-01-29T12:00:00Z',
  },
]
const record = fc
  .tuple(fc.constantFrom<object>(...BASES), fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 5 }))
  .map(([base, over]) => JSON.stringify({ ...base, ...over }))

/** Records of earlier systems: every line is converted or rejected with its number, and a converted record stays the same. */
export const target: FuzzTarget = {
  name: 'old-records',
  cases: fc
    .array(
      fc.oneof(
        { weight: 5, arbitrary: record },
        fc.constantFrom('', '[', `{"password":"${SECRET}`, 'null', '\ufeff{}'),
      ),
      {
        minLength: 1,
        maxLength: 3,
      },
    )
    .map((lines) => Buffer.from(lines.join('\n'))),
  dictionary: [
    ...NAMES.map((name) => `"${name}":`),
    '{',
    '}',
    '[',
    ']',
    '"',
    ',',
    '\n',
    'null',
    '1e999',
    SECRET,
  ],
  open: async () => {
    const counts = { in: 0, out: 0 }
    return {
      async check(bytes) {
        const input = bytes.toString('utf8')
        const { records, text, report } = await migrateRecords(input)
        const { integrity, problems } = report
        const lines = input.split('\n').filter((line) => line.replace(/^\uFEFF/, '').trim() !== '')
        if (integrity.in !== lines.length || integrity.in !== integrity.out + integrity.rejected)
          throw new Error(`the counts are not those of the lines: ${JSON.stringify(integrity)}`)
        if (integrity.out !== records.length || integrity.rejected !== problems.length)
          throw new Error('the counts are not those of the result')
        for (const { line, message } of problems) {
          const own = input.split('\n')[line - 1] ?? ''
          if (own.trim() === '' || message === '') throw new Error('a problem without its line or its text')
          if (message.startsWith('not valid JSON') && message.includes(SECRET))
            throw new Error('a problem shows the line')
        }
        const again = await migrateRecords(text)
        if (again.text !== text || again.report.integrity.rejected > 0)
          throw new Error('a converted record is converted again or rejected')
        if (Object.keys(Object.prototype).length > 0) throw new Error('the prototype of objects has new keys')
        counts.in += integrity.in
        counts.out += integrity.out
      },
      async close() {
        if (counts.in > 500 && counts.out < counts.in / 50)
          throw new Error(`only ${counts.out} of ${counts.in} records were converted`)
      },
    }
  },
}
