import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { errorRecord, event, session } from '../../../store/test/contract/records.js'
import { createCodec } from '../../src/codec/case-codec.js'
import { createTextCodec, expandDeltas } from '../../src/codec/json-writer.js'
import {
  countOrInfinity,
  durationSeconds,
  timestamp,
  userData,
  userObject,
} from '../../src/codec/record-fields.js'
import { errorRecordCodec } from '../../src/errors.js'
import { errorRecordText, eventText, sessionText } from '../../src/json-writers.js'
import { eventCodec, sessionCodec } from '../../src/session.js'

const schema = z.object({
  first_one: z.string().optional(),
  base_delay: durationSeconds(),
  at_time: timestamp().nullish(),
  max_attempts: countOrInfinity().optional(),
  flag: z.boolean(),
  some_names: z.array(z.string().nullable()),
  by_policy: z.record(z.string(), z.object({ success_rate: z.number() })),
  context: userObject().nullish(),
  result: userData().optional(),
  all_parts: z.array(z.object({ a_b: durationSeconds().nullish() })).optional(),
})
const both = createCodec(schema)
const text = createTextCodec(schema)

const text16 = fc.string({ unit: 'binary' })
// Validation removes a key named __proto__; a record without validation keeps it.
const name = text16.filter((key) => key !== '__proto__')
const records = fc.record(
  {
    firstOne: text16,
    baseDelay: fc.integer({ min: 0, max: 1e9 }),
    atTime: fc.option(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })),
    maxAttempts: fc.constantFrom(1, 7, Number.POSITIVE_INFINITY),
    flag: fc.boolean(),
    someNames: fc.array(fc.option(text16)),
    byPolicy: fc.dictionary(
      name,
      fc.record({ successRate: fc.double({ noNaN: true, noDefaultInfinity: true }) }),
    ),
    context: fc.option(fc.dictionary(name, fc.jsonValue())),
    result: fc.oneof(
      fc.jsonValue(),
      fc.constant(() => {}),
    ),
    allParts: fc.array(fc.record({ aB: fc.option(fc.integer({ min: 0, max: 1000 })) }, { requiredKeys: [] })),
  },
  { requiredKeys: ['baseDelay', 'flag', 'someNames', 'byPolicy'] },
)

/** Writes records as deltas and reads them. */
function written(codec: typeof text, given: readonly unknown[]): unknown {
  const write = codec.deltaWriter()
  return expandDeltas(JSON.parse(`[${given.map((record) => write(record as never)).join(',')}]`))
}

/** Runs work while code generation is not allowed. */
function withoutCode<T>(make: () => T): T {
  const made = vi.spyOn(globalThis, 'Function').mockImplementation(() => {
    throw new EvalError('Code generation from strings disallowed for this context')
  })
  try {
    return make()
  } finally {
    made.mockRestore()
  }
}

describe('records written as deltas', () => {
  // Few distinct values, so that some records follow similar ones.
  const bursts = fc
    .array(records, { minLength: 1, maxLength: 4 })
    .chain((some) => fc.array(fc.constantFrom(...some), { maxLength: 12 }))

  it('expand to the wire form of each record', () => {
    fc.assert(
      fc.property(bursts, (given) => {
        const each = given.map((record): unknown => JSON.parse(text.write(record as never)))
        expect(written(text, given)).toEqual(each)
        expect(
          written(
            withoutCode(() => createTextCodec(schema)),
            given,
          ),
        ).toEqual(each)
      }),
    )
  })

  it('contain equal values once', () => {
    const write = eventText.deltaWriter()
    const error = { type: 'Error', message: 'down' }
    const first = { ...event(1), error }
    expect(JSON.parse(write(first))).toEqual(eventCodec.encode(first))
    expect(write({ ...first, eventId: 'evt_2', error: { ...error } })).toBe('{"event_id":"evt_2"}')
    expect(write({ ...event(1), eventId: 'evt_3' })).toBe('{"event_id":"evt_3","-":["error"]}')
  })

  it('contain changes inside an object that is the same reference', () => {
    const context = { tries: 1 }
    const record = { ...event(1), context }
    const write = eventText.deltaWriter()
    write(record)
    context.tries = 2
    expect(write(record)).toBe('{"context":{"tries":2}}')
  })
})

describe('a record as text', () => {
  it('is the JSON of its wire form', () => {
    fc.assert(
      fc.property(records, (record) => {
        expect(text.write(record as never)).toBe(JSON.stringify(both.encode(record as never)))
      }),
    )
  })

  it('can be converted back to the record', () => {
    fc.assert(
      fc.property(records, (record) => {
        const wire: unknown = JSON.parse(text.write(record as never))
        expect(text.revive(wire)).toEqual(both.decode(wire))
      }),
    )
  })

  it('is the JSON of its wire form for all records of the runtime', () => {
    for (const [codecOf, textOf, record] of [
      [sessionCodec, sessionText, session(1)],
      [eventCodec, eventText, event(1)],
      [errorRecordCodec, errorRecordText, errorRecord(1)],
    ] as const) {
      expect(textOf.write(record as never)).toBe(JSON.stringify(codecOf.encode(record as never)))
      expect(textOf.revive(codecOf.encode(record as never))).toEqual(record)
    }
  })

  it('is written without code generation', () => {
    const slow = withoutCode(() => createTextCodec(schema))
    const record = { baseDelay: 5, flag: true, someNames: [], byPolicy: {} }
    expect(slow.write(record)).toBe(text.write(record))
  })
})
