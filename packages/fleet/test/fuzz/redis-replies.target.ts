import fc from 'fast-check'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import {
  type Parsed,
  parseBreakerState,
  parseCooldowns,
  parseHeartbeat,
  parseLive,
  parseLoan,
  parseMessage,
  parseNodeIds,
  parseNodeRecord,
  parseScored,
} from '../../src/replies.js'

const YEAR_MS = 365 * 86_400_000

/** A value in replies that no message about a problem can repeat. */
const SECRET = 'Zq7-secret-in-a-reply'

const FIELDS = [
  'id',
  'node',
  'epoch',
  'state',
  'left',
  'age',
  'openFor',
  'openings',
  'failures',
  'off',
  'tripFor',
  'now',
  'wait',
  'token',
  'early',
  'gone',
  'settings',
  'by',
  'of',
  'answer',
  'rest',
  'member',
  'ask',
  'round',
  'joined',
  'layer',
  'version',
  'startedAt',
  'lastSeen',
  'opinions',
  '__proto__',
  'constructor',
]

const value = fc.oneof(
  fc.constantFrom<unknown>(
    0,
    1,
    -1,
    0.5,
    1e15,
    1e308,
    -1e308,
    true,
    false,
    null,
    '',
    'a',
    'open',
    'closed',
    'half_open',
  ),
  fc.constantFrom<unknown>(
    '2026-01-29T12:00:00.000Z',
    '1',
    '1e999',
    SECRET,
    'x'.repeat(5000),
    [],
    {},
    [['a', 1]],
    ['a', '1'],
  ),
  fc.jsonValue({ maxDepth: 2 }),
)

const state = fc.record({
  id: fc.constantFrom('policy:a', ''),
  node: fc.constantFrom('n1', SECRET),
  epoch: fc.constantFrom<unknown>(0, 17_696_880_000_000, -1, 1.5, '1', Number.MAX_SAFE_INTEGER + 2),
  state: fc.constantFrom('open', 'closed', 'half_open', 'ajar'),
  left: fc.double(),
  openFor: fc.double(),
  openings: fc.double(),
  failures: fc.double(),
  off: fc.constantFrom<unknown>(true, false, 0),
})

const replies = fc.oneof(
  state,
  fc.dictionary(fc.constantFrom(...FIELDS), value, { maxKeys: 12 }),
  fc
    .tuple(state, fc.dictionary(fc.constantFrom(...FIELDS), value, { maxKeys: 4 }))
    .map(([a, b]) => ({ ...a, ...b })),
  fc.array(fc.oneof(value, fc.tuple(value, value)), { maxLength: 6 }),
  fc.array(fc.oneof(fc.constantFrom(0, 1, -1, 0.5, 1e6, 1e6 + 1, 1e9, 1e9 + 1), fc.double({ noNaN: true })), {
    minLength: 2,
    maxLength: 3,
  }),
  fc.array(fc.tuple(fc.constantFrom('a', '', SECRET), fc.double({ noNaN: true })), { maxLength: 3 }),
  fc.array(fc.constantFrom('a', '1', '1e5', '-1', '1e999', 'x'.repeat(600)), { maxLength: 4 }),
  fc.record({
    version: fc.constantFrom('1.0.0', 'x'.repeat(100)),
    startedAt: fc.constantFrom('2026-01-29T12:00:00.000Z', 'x', '+275760-09-13T00:00:00.001Z'),
    lastSeen: fc.constantFrom('2026-01-29T12:00:00.000Z', ''),
    opinions: fc.dictionary(fc.constantFrom('policy:a', '', '__proto__'), fc.constantFrom('open', 'ajar')),
  }),
)

const MAX_COUNT = 1e9
const MAX_NODES = 1e6
const MAX_TIME_MS = 8.64e15

/** A range that a number of a reply must be in, and whether it must be a whole number. */
type Range = readonly [min: number, max: number, isWhole?: boolean]

const DURATION: Range = [0, YEAR_MS]

/** The ranges of the numbers in messages and states, by the field. */
const FIELD_RANGES: Readonly<Record<string, Range>> = {
  epoch: [0, Number.MAX_SAFE_INTEGER, true],
  left: DURATION,
  age: DURATION,
  openFor: DURATION,
  tripFor: DURATION,
  wait: DURATION,
  early: DURATION,
  openings: [0, MAX_COUNT, true],
  failures: [0, MAX_COUNT, true],
  now: [0, MAX_TIME_MS],
}

/** The ranges of the numbers in replies that are lists, by the parser and the position. */
const LIST_RANGES: Readonly<Record<string, readonly Range[]>> = {
  parseHeartbeat: [
    [0, 1, true],
    [0, MAX_NODES, true],
  ],
  parseLive: [
    [0, MAX_NODES, true],
    [0, 1, true],
  ],
  parseLoan: [
    [0, MAX_COUNT, true],
    [0, MAX_COUNT, true],
  ],
}

function checkRange(name: string, value: unknown, [min, max, isWhole = false]: Range): void {
  if (typeof value !== 'number' || !(value >= min && value <= max) || (isWhole && !Number.isInteger(value)))
    throw new Error(`${name}: accepted ${String(value)}, expected ${min} to ${max}`)
}

const assertText = (name: string, text: unknown, max: number): void => {
  if (typeof text !== 'string' || text.length > max)
    throw new Error(`${name}: accepted a text that is too long`)
}

/** Checks a message or a state: every number by its field, and the texts by their lengths. */
function checkFields(name: string, value: object): void {
  for (const [field, held] of Object.entries(value) as [string, unknown][])
    if (typeof held === 'number')
      checkRange(`${name}.${field}`, held, FIELD_RANGES[field] ?? [Number.NaN, Number.NaN])
    else if (typeof held === 'string') assertText(`${name}.${field}`, held, 4096)
    else if (held !== undefined && typeof held !== 'boolean')
      throw new Error(`${name}.${field}: accepted another type`)
}

/** Checks an accepted value by the parser that accepted it. */
const CHECKS: Readonly<Record<string, (name: string, value: never) => void>> = {
  parseMessage: checkFields,
  parseBreakerState(name, value: { state: string }) {
    checkFields(name, value)
    if (!['closed', 'open', 'half_open'].includes(value.state)) throw new Error(`${name}: an unknown state`)
  },
  parseNodeRecord(name, value: { version: string; startedAt: Date; lastSeen: Date; opinions: object }) {
    assertText(name, value.version, 64)
    for (const time of [value.startedAt, value.lastSeen])
      checkRange(name, time.getTime(), [-MAX_TIME_MS, MAX_TIME_MS])
    const opinions = Object.entries(value.opinions)
    if (opinions.length > 1000) throw new Error(`${name}: accepted too many opinions`)
    for (const [id, opinion] of opinions) {
      assertText(name, id, 4096)
      if (!['closed', 'open', 'half_open'].includes(opinion as string))
        throw new Error(`${name}: an unknown opinion`)
    }
  },
  parseNodeIds: (name, value: string[]) => value.forEach((id) => assertText(name, id, 512)),
  parseCooldowns(name, value: [string, number][]) {
    for (const [member, left] of value) {
      assertText(name, member, 2048)
      // A cooldown that has ended is negative.
      checkRange(name, left, [-Number.MAX_VALUE, YEAR_MS])
    }
  },
  parseScored(name, value: [string, string][]) {
    for (const [id, score] of value) {
      assertText(name, id, 4096)
      if (!(Number(score) >= 0)) throw new Error(`${name}: accepted a score that is not a number`)
    }
  },
}

function checkParsed(name: string, parsed: Parsed<unknown>): void {
  if ('problem' in parsed) {
    if (typeof parsed.problem !== 'string' || parsed.problem === '')
      throw new Error(`${name}: a problem without a text`)
    if (parsed.problem.includes(SECRET)) throw new Error(`${name}: the problem shows the value`)
    return
  }
  const ranges = LIST_RANGES[name]
  if (ranges === undefined) {
    const check = CHECKS[name]
    if (check === undefined) throw new Error(`${name}: no check`)
    check(name, parsed.value as never)
    return
  }
  const list = parsed.value as unknown[]
  if (list.length !== ranges.length) throw new Error(`${name}: accepted ${list.length} values`)
  for (const [i, range] of ranges.entries()) checkRange(name, list[i], range)
}

const OF_TEXTS = { parseMessage, parseBreakerState, parseNodeRecord }
const OF_VALUES = { parseHeartbeat, parseLive, parseNodeIds, parseCooldowns, parseScored, parseLoan }

/** Replies and messages of Redis: each is a valid value or a problem that does not repeat it. */
export const target: FuzzTarget = {
  name: 'redis-replies',
  cases: replies.map((reply) => Buffer.from(JSON.stringify(reply))),
  dictionary: [
    ...FIELDS.map((field) => `"${field}":`),
    '1e999',
    '-0',
    'null',
    '"open"',
    '[',
    ']',
    '{',
    '}',
    ',',
    '"',
    `"${SECRET}"`,
  ],
  open: async () => ({
    check(bytes) {
      const text = bytes.toString('utf8')
      let parsed: unknown = text
      try {
        parsed = JSON.parse(text)
      } catch {
        // The text itself is the reply.
      }
      for (const [name, parse] of Object.entries(OF_TEXTS)) {
        checkParsed(name, parse(text))
        checkParsed(name, parse(parsed))
      }
      for (const [name, parse] of Object.entries(OF_VALUES)) {
        checkParsed(name, parse(parsed))
        checkParsed(name, parse([text, parsed]))
      }
      if (Object.keys(Object.prototype).length > 0) throw new Error('the prototype of objects has new keys')
    },
    close: async () => {},
  }),
}
