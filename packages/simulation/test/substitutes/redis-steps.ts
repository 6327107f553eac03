import fc from 'fast-check'
import type { RedisScript } from '../../../fleet/src/lua/scripts.js'

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

/** The time before a command: milliseconds, or until just before, at or after a time that the data of the server contain. */
export type Pause = number | { readonly boundary: number; readonly offsetMs: number }

/** A command that is sent after some time. Its epoch, token and round come from earlier replies. */
export interface Step {
  readonly pause: Pause
  create(known: Known, now: number): Command
}

/** Creates the command of a step. */
export type Creation = fc.Arbitrary<Step['create']>

export const nodes = fc.constantFrom('n1', 'n2', 'n3')
export const members = fc.constantFrom('m1', 'm2', 'm3')

/** The breaker that most commands are about, and another one, which must not be changed by them. */
export const ID = 'service:a'
export const ids = fc.constantFrom(ID, ID, ID, 'service:b')

/** Durations with and without a fraction. A few of them are frequent, so that two commands often have the same one. */
export const duration = fc.oneof(
  fc.constantFrom(0, 1000, 1000, 2500, 2500, 30_000),
  fc.integer({ min: 0, max: 60_000 }),
  fc.integer({ min: 0, max: 600_000 }).map((n) => n / 7),
)
export const shortDuration = fc.oneof(fc.constantFrom(0, 500, 500, 1000, 1000), fc.nat(3000))
export const small = fc.nat(5)

/** The open duration, the number of consecutive openings and the failures. */
export const opening = fc.tuple(duration, small, small)
export const shortOpening = fc.tuple(shortDuration, small, small)

/**
 * The epoch that a node claims to know: none, the last one, an older one, or one that Redis has lost. An epoch far ahead of the time is
 * not valid if it is more than a day ahead.
 */
export const anyClaim = fc.constantFrom(
  'none',
  'last',
  'last',
  'last',
  'last',
  'last',
  'older',
  'oldest',
  'newer',
  'newer',
  'ahead',
  'almost a day ahead',
  'too far ahead',
  'invalid',
  'negative',
)
const usualClaim = fc.constantFrom('last', 'last', 'last', 'last', 'last', 'older', 'newer', 'ahead')

const DAY_MS = 86_400_000

function resolveEpoch(claim: string, last: number, now: number): number | string {
  switch (claim) {
    case 'none':
      return 0
    case 'older':
      return Math.max(0, last - 1)
    case 'oldest':
      return Math.max(0, last - 100_000)
    case 'newer':
      return last + 1
    case 'ahead':
      return Math.max(last, Math.floor(now) * 10) + 100_000
    case 'almost a day ahead':
      return (Math.floor(now) + DAY_MS) * 10
    case 'too far ahead':
      return (Math.floor(now) + DAY_MS) * 10 + 1
    case 'negative':
      return -1
    case 'invalid':
      return 'x'
    default:
      return last
  }
}

const evalScript = ({ text }: RedisScript, keys: Command, args: Command): Command => [
  'EVAL',
  text,
  keys.length,
  ...keys,
  ...args,
]

export const breakerKeys = (id: string) =>
  ['state', 'round', 'counts'].map((name) => `holdfast:{${id}}:${name}`)

/** A script about a breaker. */
export const breakerStep = <T>(
  script: RedisScript,
  argument: fc.Arbitrary<T>,
  toArgs: (value: T, known: Known) => Command,
  {
    id = ids,
    claim = usualClaim,
    node = nodes,
  }: { id?: fc.Arbitrary<string>; claim?: fc.Arbitrary<string>; node?: fc.Arbitrary<string> } = {},
): Creation =>
  fc.tuple(node, id, claim, argument).map(
    ([node, id, claim, value]) =>
      (known, now) =>
        evalScript(script, breakerKeys(id), [
          node,
          id,
          resolveEpoch(claim, known.epochs.get(id) ?? 0, now),
          ...toArgs(value, known),
        ]),
  )

/** A script that is not about a breaker. */
export const step = <T>(
  script: RedisScript,
  keys: Command,
  argument: fc.Arbitrary<T>,
  toArgs: (value: T) => Command,
): Creation => argument.map((value) => () => evalScript(script, keys, toArgs(value)))

/** A command of another client, or of an operator. */
export const command = (arbitrary: fc.Arbitrary<Command>): Creation =>
  arbitrary.map((command) => () => command)

export const none = fc.constant(undefined)

/** One of the last permits. */
export const tokenOf = ({ tokens }: Known, back: number) => tokens.at(-1 - back) ?? '1:1'
