import fc from 'fast-check'
import {
  APPEND,
  BORROW,
  COUNT_LIVE,
  EJECT,
  END_COOLDOWN,
  FILTER_LIVE,
  HEARTBEAT,
  LEAVE,
  LIST_COOLDOWNS,
  LIST_EJECTED,
  READ_COOLDOWN,
  READMIT,
  START_COOLDOWN,
  WRITE_PROBE,
} from '../../../fleet/src/lua/scripts.js'
import {
  anyBreakerStep,
  COUNT_WINDOW_MS,
  countSteps,
  epochSteps,
  longCountSteps,
  probeSteps,
  voteSteps,
} from './redis-breaker-steps.js'
import {
  type Creation,
  command,
  members,
  nodes,
  none,
  type Pause,
  type Step,
  small,
  step,
} from './redis-steps.js'

const NODE_KEYS = ['holdfast:{nodes}:live', 'holdfast:{nodes}:records']
const COOLDOWNS = ['holdfast:{pool}:cooldowns']
const EJECTED = ['holdfast:{pool}:ejected']
const BUDGET = ['holdfast:{budget}']

/** Few different durations, so that two of them often end at the same time. */
const lives = fc.constantFrom(2000, 3000, 3000, 20_000)
const rests = fc.constantFrom(2000, 5000, 5000, 30_000)

const lose = (...keys: string[]): Creation =>
  command(
    fc.oneof(
      fc.constantFrom(...keys).map((key) => ['DEL', key]),
      fc.constant(['FLUSHALL']),
    ),
  )

/** Another client writes a value of another type. */
const occupy = (...keys: string[]): Creation =>
  command(fc.constantFrom(...keys).map((key) => ['SET', key, 'x']))

const membershipSteps: Creation = fc.oneof(
  {
    weight: 4,
    arbitrary: step(
      HEARTBEAT,
      NODE_KEYS,
      fc.tuple(nodes, fc.constantFrom('{"a":1}', '{"a":2}'), lives),
      (args) => args,
    ),
  },
  { weight: 2, arbitrary: step(COUNT_LIVE, NODE_KEYS.slice(0, 1), nodes, (node) => [node]) },
  {
    weight: 2,
    arbitrary: step(
      FILTER_LIVE,
      NODE_KEYS.slice(0, 1),
      fc.subarray(['n1', 'n2', 'n3', 'n4']),
      (list) => list,
    ),
  },
  { weight: 1, arbitrary: step(LEAVE, NODE_KEYS, nodes, (node) => [node]) },
  {
    weight: 1,
    arbitrary: fc.oneof(
      step(WRITE_PROBE, ['holdfast:{nodes}:trial'], none, () => []),
      lose(...NODE_KEYS),
    ),
  },
)

const ejectionSteps: Creation = fc.oneof(
  {
    weight: 3,
    arbitrary: step(
      EJECT,
      EJECTED,
      fc.tuple(members, fc.nat(4), fc.constantFrom(3000, 20_000, 60_000)),
      (args) => args,
    ),
  },
  { weight: 3, arbitrary: step(READMIT, EJECTED, fc.tuple(members, fc.nat(4)), (args) => args) },
  { weight: 1, arbitrary: step(LIST_EJECTED, EJECTED, none, () => []) },
  { weight: 1, arbitrary: fc.oneof(lose(...EJECTED), occupy(...EJECTED)) },
)

const aboutMember = fc.tuple(nodes, fc.constant('pool'), members)
const cooldownSteps: Creation = fc.oneof(
  {
    weight: 4,
    arbitrary: step(START_COOLDOWN, COOLDOWNS, fc.tuple(aboutMember, rests), ([about, ms]) => [...about, ms]),
  },
  { weight: 1, arbitrary: step(END_COOLDOWN, COOLDOWNS, aboutMember, (args) => args) },
  { weight: 2, arbitrary: step(READ_COOLDOWN, COOLDOWNS, aboutMember, (args) => args) },
  { weight: 2, arbitrary: step(LIST_COOLDOWNS, COOLDOWNS, none, () => []) },
  { weight: 1, arbitrary: fc.oneof(lose(...COOLDOWNS), occupy(...COOLDOWNS)) },
)

const borrow = (calls: fc.Arbitrary<number>, windowMs: number): Creation =>
  step(
    BORROW,
    BUDGET,
    fc.tuple(
      calls,
      small,
      fc.constantFrom(0, 0.1, 0.25),
      fc.constantFrom(0, 0.1, 0.1, 1),
      fc.constant(windowMs),
    ),
    (args) => args,
  )
const budgetSteps = (windowMs: number): Creation =>
  fc.oneof(
    { weight: 10, arbitrary: borrow(fc.nat(20), windowMs) },
    {
      weight: 1,
      arbitrary: command(
        fc
          .tuple(fc.constantFrom('c99999999999', 'r99999999999', 'r1', 'cx'), fc.constantFrom('4', '50'))
          .map((pair) => ['HSET', ...BUDGET, ...pair]),
      ),
    },
    { weight: 1, arbitrary: fc.oneof(lose(...BUDGET), occupy(...BUDGET)) },
  )

const appendEvents = step(
  APPEND,
  ['holdfast:events'],
  fc.tuple(nodes, fc.array(fc.constantFrom('{"a":1}', '{"b":2}'), { maxLength: 3, minLength: 1 })),
  ([node, events]) => [node, 10_000, 86_400_000, ...events],
)

const anyStep: Creation = fc.oneof(
  { weight: 4, arbitrary: anyBreakerStep },
  membershipSteps,
  ejectionSteps,
  cooldownSteps,
  borrow(small, 10_000),
  appendEvents,
)

/**
 * Times between two commands: none, so that both are in the same millisecond, a few, or until a time that the data contain. Seldom
 * the clock goes back.
 */
const pauseUpTo = (maxMs: number): fc.Arbitrary<Pause> =>
  fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(0, 0, 1) },
    { weight: 10, arbitrary: fc.nat(Math.min(maxMs, 50)) },
    { weight: 10, arbitrary: fc.nat(maxMs) },
    { weight: 10, arbitrary: fc.record({ boundary: fc.nat(5), offsetMs: fc.constantFrom(-1, 0, 0, 1) }) },
    { weight: 1, arbitrary: fc.constantFrom(-1, -700, -5000, -3_600_000) },
  )

/** Times between two commands about a window: parts of its 32 buckets, so that some become just too old. */
const pauseInWindow = (windowMs: number): fc.Arbitrary<Pause> =>
  fc.constantFrom(...[0, 0.3, 1, 1, 1, 2, 2, 3, 4].map((buckets) => Math.ceil((windowMs / 32) * buckets)))

/** Commands about one concept, the time between two of them, and how frequent such histories are. */
const themes: readonly [steps: Creation, pauses: fc.Arbitrary<Pause>, weight: number][] = [
  [anyStep, pauseUpTo(60_000), 2],
  [anyBreakerStep, pauseUpTo(5000), 3],
  [epochSteps, pauseUpTo(3000), 4],
  [probeSteps, pauseUpTo(900), 8],
  [voteSteps, pauseUpTo(600), 6],
  [countSteps, pauseInWindow(COUNT_WINDOW_MS), 3],
  [longCountSteps, pauseInWindow(COUNT_WINDOW_MS), 3],
  [membershipSteps, pauseUpTo(4000), 4],
  [ejectionSteps, pauseUpTo(6000), 2],
  [cooldownSteps, pauseUpTo(4000), 3],
  [budgetSteps(COUNT_WINDOW_MS), pauseInWindow(COUNT_WINDOW_MS), 2],
  [budgetSteps(10_000), pauseInWindow(10_000), 2],
]

/** A generated history of commands about everything, or about one concept, so that it reaches the states of that concept. */
export const history: fc.Arbitrary<Step[]> = fc.oneof(
  ...themes.map(([create, pause, weight]) => ({
    weight,
    arbitrary: fc.array(fc.record({ pause, create }), { minLength: 25, maxLength: 60 }),
  })),
)
