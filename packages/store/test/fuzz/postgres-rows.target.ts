import fc from 'fast-check'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { fromRow, type PostgresDeadLetterRow } from '../../src/postgres/dead-letter-rows.js'
import { readableRows } from '../../src/readable-rows.js'

/** A row as the driver returns it: bigint columns are texts. */
const ROW: PostgresDeadLetterRow = {
  seq: '1',
  id: '6f2d7a1e-0000-4000-8000-000000000001',
  dlq_id: 'dlq_1',
  operation: '6f2d7a1e-0000-4000-8000-000000000002',
  operation_type: 'gmail.fetch',
  item_id: 'item 1',
  status: 'pending',
  created_at: '1768478400000',
  last_attempt: '1768478400000',
  replayed_at: null,
  leased_until: null,
  lease_owner: null,
  replay_requested_at: null,
  change: '1',
  error_details: '{"type":"Error","message":"boom"}',
  rest: '{"schema":"1.1","replay_count":0,"max_replays":3}',
  original_payload: '{"a":1}',
  edited_payload: null,
}

const TEXTS = [
  'rest',
  'error_details',
  'original_payload',
  'edited_payload',
  'dlq_id',
  'item_id',
  'lease_owner',
] as const

const wire = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '',
    'null',
    '{"__proto__":{"polluted":1}}',
    '{"constructor":{"prototype":{}}}',
    '[',
    '\\u0000',
    '"\\ud800"',
  ),
  fc.string({ maxLength: 30 }),
)

/** Rows of PostgreSQL: a damaged one is skipped, and the others are read. */
export const target: FuzzTarget = {
  name: 'postgres-rows',
  cases: fc
    .tuple(fc.integer({ min: 0, max: 255 }), wire)
    .map(([column, text]) => Buffer.concat([Buffer.from([column]), Buffer.from(text)])),
  dictionary: ['null', '{', '}', '[', ']', '"', ':', ',', '"__proto__":', '1e999', '\\u0000'],
  open: async () => ({
    check(bytes) {
      const [column = 0] = bytes
      const damaged = { ...ROW, [TEXTS[column % TEXTS.length] as string]: bytes.toString('utf8', 1) }
      const entries = readableRows([ROW, damaged, { ...ROW, dlq_id: 'dlq_2' }], fromRow)
      const ids = entries.map(({ entry }) => entry.dlqId)
      if (ids.at(0) !== 'dlq_1' || ids.at(-1) !== 'dlq_2')
        throw new Error(`other rows are lost: ${ids.join()}`)
      for (const { entry } of entries)
        if (!(entry.createdAt instanceof Date)) throw new Error('an entry without its time')
      if (Object.keys(Object.prototype).length > 0 || 'polluted' in Object.prototype)
        throw new Error('the prototype of objects has new keys')
    },
    close: async () => {},
  }),
}
