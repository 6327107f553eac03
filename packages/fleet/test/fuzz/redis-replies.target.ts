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
)

/** The numbers of a parsed reply that are not finite and in the range that the fleet works with. */
function badNumberIn(parsed: unknown): number | undefined {
  if (typeof parsed === 'number') return Number.isFinite(parsed) ? undefined : parsed
  if (typeof parsed !== 'object' || parsed === null || parsed instanceof Date) return undefined
  for (const held of Object.values(parsed)) {
    const bad = badNumberIn(held)
    if (bad !== undefined) return bad
  }
  return undefined
}

function checkParsed(name: string, parsed: Parsed<unknown>): void {
  if ('problem' in parsed) {
    if (typeof parsed.problem !== 'string' || parsed.problem === '')
      throw new Error(`${name}: a problem without a text`)
    if (parsed.problem.includes(SECRET)) throw new Error(`${name}: the problem shows the value`)
    return
  }
  const bad = badNumberIn(parsed.value)
  if (bad !== undefined) throw new Error(`${name}: accepted the number ${bad}`)
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
      const result = parseBreakerState(text)
      if ('value' in result) {
        const { left, openFor, epoch } = result.value
        if (left < 0 || left > YEAR_MS || openFor > YEAR_MS || !Number.isSafeInteger(epoch))
          throw new Error('a state of a breaker out of range')
      }
      if (Object.keys(Object.prototype).length > 0) throw new Error('the prototype of objects has new keys')
    },
    close: async () => {},
  }),
}
