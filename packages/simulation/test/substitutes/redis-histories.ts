import fc from 'fast-check'
import {
  APPEND,
  BORROW,
  CLOSE,
  COMMAND,
  COUNT,
  COUNT_LIVE,
  EJECT,
  END_COOLDOWN,
  EXTEND_PROBE,
  FILTER_LIVE,
  GRANT_PROBE,
  HEARTBEAT,
  LEAVE,
  LIST_COOLDOWNS,
  LIST_EJECTED,
  OPEN,
  READ,
  READ_COOLDOWN,
  READMIT,
  type RedisScript,
  SETTLE_PROBE,
  START_COOLDOWN,
  SYNC,
  VOTE,
  WRITE_PROBE,
} from '../../../fleet/src/lua/scripts.js'

export type Command = readonly (string | number)[]

/** What earlier replies contained. */
export interface Known {
  /** The last epoch of each breaker. */
  readonly epochs: Map<string, number>
  /** The permits that were granted. */
  readonly tokens: string[]
  /** The last round of votes. */
  round: string
}

/** A command that is sent after some time. Its epoch, token and round come from earlier replies. */
export interface Step {
  readonly advance: number
  create(known: Known, now: number): Command
}

const nodes = fc.constantFrom('n1', 'n2', 'n3')
const ids = fc.constantFrom('service:a', 'service:b')
const members = fc.constantFrom('m1', 'm2', 'm3')

/** Durations with and without a fraction. */
const duration = fc.oneof(
  fc.integer({ min: 0, max: 60_000 }),
  fc.integer({ min: 0, max: 600_000 }).map((n) => n / 7),
)
const small = fc.nat(5)

/** The epoch that a node claims to know: none, the last one, an older one, a newer one, or one that is not valid. */
const epochClaim = fc.constantFrom('none', 'last', 'last', 'last', 'older', 'newer', 'invalid')

function resolveEpoch(claim: string, last: number): number | string {
  if (claim === 'none') return 0
  if (claim === 'older') return Math.max(0, last - 10)
  if (claim === 'newer') return last + 25
  return claim === 'invalid' ? 'x' : last
}

const evalScript = ({ text }: RedisScript, keys: Command, args: Command): Command => [
  'EVAL',
  text,
  keys.length,
  ...keys,
  ...args,
]

const breakerKeys = (id: string) => ['state', 'round', 'counts'].map((name) => `holdfast:{${id}}:${name}`)

/** A script about a breaker. */
const breakerStep = <T>(
  script: RedisScript,
  argument: fc.Arbitrary<T>,
  toArgs: (value: T, known: Known) => Command,
  [id, claim]: readonly [fc.Arbitrary<string>, fc.Arbitrary<string>] = [ids, epochClaim],
): fc.Arbitrary<Step['create']> =>
  fc.tuple(nodes, id, claim, argument).map(
    ([node, id, claim, value]) =>
      (known) =>
        evalScript(script, breakerKeys(id), [
          node,
          id,
          resolveEpoch(claim, known.epochs.get(id) ?? 0),
          ...toArgs(value, known),
        ]),
  )

const script = <T>(
  source: RedisScript,
  keys: Command,
  argument: fc.Arbitrary<T>,
  toArgs: (value: T, now: number) => Command,
): fc.Arbitrary<Step['create']> =>
  argument.map((value) => (_, now) => evalScript(source, keys, toArgs(value, now)))

const none = fc.constant(undefined)
const opening = fc.tuple(duration, small, small)
const token = fc.nat(3)
const tokenOf = ({ tokens }: Known, back: number) => tokens.at(-1 - back) ?? '1:1'
const NODE_KEYS = ['holdfast:{nodes}:live', 'holdfast:{nodes}:records']
const COOLDOWNS = ['holdfast:{pool}:cooldowns']
const EJECTED = ['holdfast:{pool}:ejected']

const settings = fc.tuple(
  fc.constantFrom('settings 1', 'settings 2'),
  fc.constantFrom('open', 'closed'),
  duration,
  duration,
  small,
  fc.constantFrom(0, 1),
)

const creations: fc.Arbitrary<Step['create']>[] = [
  breakerStep(READ, none, () => []),
  breakerStep(OPEN, opening, (args) => args),
  breakerStep(CLOSE, none, () => []),
  breakerStep(
    COMMAND,
    fc.tuple(fc.constantFrom('trip', 'reset', 'disable', 'enable'), opening, duration),
    ([command, state, tripFor]) => [command, ...state, tripFor],
  ),
  breakerStep(
    GRANT_PROBE,
    fc.tuple(fc.integer({ min: 1, max: 3 }), duration, duration),
    ([max, lease, hold]) => [max, lease, 150, hold],
  ),
  breakerStep(GRANT_PROBE, fc.constant(undefined), () => [2, 1000, 100_000, 1000]),
  breakerStep(EXTEND_PROBE, fc.tuple(token, duration), ([back, ms], known) => [tokenOf(known, back), ms]),
  breakerStep(EXTEND_PROBE, fc.tuple(token, duration, duration), ([back, lease, hold], known) => [
    tokenOf(known, back),
    lease,
    hold,
  ]),
  breakerStep(
    SETTLE_PROBE,
    fc.tuple(
      token,
      fc.constantFrom('success', 'failure', 'nothing'),
      fc.integer({ min: 1, max: 2 }),
      opening,
    ),
    ([back, outcome, threshold, state], known) => [tokenOf(known, back), outcome, threshold, ...state],
  ),
  breakerStep(
    VOTE,
    fc.tuple(
      opening,
      fc.constantFrom(0.3, 0.5),
      fc.constantFrom('f', 'f', 'h', 'n', ''),
      fc.constantFrom('', 'last', '1'),
      fc.nat(4),
    ),
    ([state, quorum, vote, round, live], known) => [
      ...state,
      quorum,
      vote,
      round === 'last' ? known.round : round,
      ...(round === '' ? [live] : []),
    ],
  ),
  breakerStep(
    COUNT,
    fc.tuple(
      small,
      small,
      fc.constantFrom(1000, 60_000),
      fc.integer({ min: 1, max: 8 }),
      fc.constantFrom(0, 0.5),
      fc.constantFrom(0, 1),
      duration,
    ),
    ([calls, failures, window, threshold, rate, success, openFor]) => [
      calls + failures,
      failures,
      window,
      threshold,
      rate,
      4,
      success,
      openFor,
      1,
    ],
  ),
  breakerStep(SYNC, settings, ([text, state, left, openFor, openings, off]) => [
    text,
    state,
    left,
    openFor,
    openings,
    1,
    off,
    Math.floor(left / 2),
    0,
  ]),
  script(HEARTBEAT, NODE_KEYS, fc.tuple(nodes, fc.integer({ min: 1, max: 20_000 })), ([node, ttl]) => [
    node,
    '{"a":1}',
    ttl,
  ]),
  script(COUNT_LIVE, NODE_KEYS.slice(0, 1), nodes, (node) => [node]),
  script(FILTER_LIVE, NODE_KEYS.slice(0, 1), fc.subarray(['n1', 'n2', 'n3', 'n4']), (list) => list),
  script(LEAVE, NODE_KEYS, nodes, (node) => [node]),
  script(
    EJECT,
    EJECTED,
    fc.tuple(members, fc.nat(100), fc.integer({ min: 2000, max: 60_000 })),
    (args) => args,
  ),
  script(READMIT, EJECTED, fc.tuple(members, fc.nat(100)), (args) => args),
  script(LIST_EJECTED, EJECTED, none, () => []),
  script(
    START_COOLDOWN,
    COOLDOWNS,
    fc.tuple(nodes, members, fc.integer({ min: 2000, max: 30_000 })),
    ([node, member, ms]) => [node, 'pool', member, ms],
  ),
  script(END_COOLDOWN, COOLDOWNS, fc.tuple(nodes, members), ([node, member]) => [node, 'pool', member]),
  script(READ_COOLDOWN, COOLDOWNS, fc.tuple(nodes, members), ([node, member]) => [node, 'pool', member]),
  script(LIST_COOLDOWNS, COOLDOWNS, fc.tuple(nodes, members), ([node, member]) => [node, 'pool', member]),
  script(
    BORROW,
    ['holdfast:{budget}'],
    fc.tuple(
      small,
      small,
      fc.constantFrom(0, 0.1, 0.25),
      fc.constantFrom(0, 1),
      fc.constantFrom(1000, 10_000),
    ),
    (args) => args,
  ),
  script(
    APPEND,
    ['holdfast:events'],
    fc.tuple(nodes, fc.array(fc.constantFrom('{"a":1}', '{"b":2}'), { maxLength: 3, minLength: 1 })),
    ([node, events]) => [node, 10_000, 86_400_000, ...events],
  ),
  script(WRITE_PROBE, ['holdfast:{nodes}:trial'], none, () => []),
  // Foreign data: another client writes values of its own.
  fc
    .tuple(
      ids,
      fc.constantFrom('epoch', 'state', 'until', 'granted', 'lease:1:1', 'wantedHold'),
      fc.constantFrom('nan', '-1', '1e300', 'open', '12.5'),
    )
    .map(([id, field, value]) => () => ['HSET', `holdfast:{${id}}:state`, field, value]),
  fc.constantFrom(...EJECTED, ...COOLDOWNS, 'holdfast:{budget}').map((key) => () => ['SET', key, 'x']),
  fc
    .constantFrom(...EJECTED, ...COOLDOWNS, 'holdfast:{budget}', ...breakerKeys('service:a'))
    .map((key) => () => ['DEL', key]),
]

/** One breaker whose state the node knows. */
const ONE = [fc.constant('service:a'), fc.constant('last')] as const
const short = fc.nat(3000)
const shortOpening = fc.tuple(short, small, small)
const reset = breakerStep(COMMAND, none, () => ['reset', 0, 0, 0, 0], ONE)

const probes = [
  breakerStep(OPEN, shortOpening, (args) => args, ONE),
  ...[1, 1, 2, 3].map((max) =>
    breakerStep(GRANT_PROBE, fc.tuple(short, short), ([lease, hold]) => [max, lease, 150, hold], ONE),
  ),
  ...[0, 1].map((back) => breakerStep(EXTEND_PROBE, short, (ms, known) => [tokenOf(known, back), ms], ONE)),
  breakerStep(EXTEND_PROBE, short, (hold, known) => [tokenOf(known, 0), 1000, hold], ONE),
  ...(['success', 'success', 'failure', 'nothing'] as const).map((outcome) =>
    breakerStep(
      SETTLE_PROBE,
      fc.tuple(token, shortOpening),
      ([back, state], known) => [tokenOf(known, back), outcome, 2, ...state],
      ONE,
    ),
  ),
]

const votes = [
  ...(['f', 'f', 'h', 'n', ''] as const).flatMap((opinion) =>
    [true, false].map((isAnswer) =>
      breakerStep(
        VOTE,
        fc.tuple(shortOpening, fc.constantFrom(0.3, 0.5), fc.integer({ min: 1, max: 4 })),
        ([state, quorum, live], known) => [
          ...state,
          quorum,
          opinion,
          ...(isAnswer ? [known.round] : ['', live]),
        ],
        ONE,
      ),
    ),
  ),
  reset,
]

const windows = [0, 0, 0.5].map((rate) =>
  breakerStep(
    COUNT,
    fc.tuple(fc.nat(3), fc.nat(2), fc.integer({ min: 5, max: 9 }), fc.nat(9)),
    ([successes, failures, threshold, n]) => [
      successes + failures,
      failures,
      1000,
      threshold,
      rate,
      4,
      n === 0 ? 1 : 0,
      500,
      1,
    ],
    ONE,
  ),
)

const budget = [
  script(
    BORROW,
    ['holdfast:{budget}'],
    fc.tuple(fc.nat(20), small, fc.constant(0.25), fc.constant(0.1), fc.constant(10_000)),
    (args) => args,
  ),
]

/** Commands about one concept, with the longest time between two of them. */
const themes: readonly [fc.Arbitrary<Step['create']>[], number][] = [
  [creations, 60_000],
  [creations.slice(0, 11), 5000],
  [creations.slice(11, 15), 6000],
  [creations.slice(15, 22), 6000],
  [probes, 900],
  [votes, 700],
  [[...windows, reset], 120],
  [budget, 1500],
]

/** A generated history of commands about everything, or about one concept, so that it reaches the states of that concept. */
export const history: fc.Arbitrary<Step[]> = fc.oneof(
  ...themes.map(([list, pause]) =>
    fc.array(fc.record({ advance: fc.oneof(fc.nat(50), fc.nat(pause)), create: fc.oneof(...list) }), {
      minLength: 15,
      maxLength: 60,
    }),
  ),
)
