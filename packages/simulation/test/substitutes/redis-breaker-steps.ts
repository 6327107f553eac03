import fc from 'fast-check'
import {
  CLOSE,
  COMMAND,
  COUNT,
  EXTEND_PROBE,
  GRANT_PROBE,
  OPEN,
  READ,
  SETTLE_PROBE,
  SYNC,
  VOTE,
} from '../../../fleet/src/lua/scripts.js'
import {
  anyClaim,
  breakerKeys,
  breakerStep,
  type Creation,
  command,
  duration,
  ID,
  ids,
  none,
  opening,
  shortDuration,
  shortOpening,
  small,
  tokenOf,
} from './redis-steps.js'

/** Its counts expire after twice this time, which must be longer than the test needs to look at them. */
export const COUNT_WINDOW_MS = 4000

/** True once in 16 times. Generated numbers are small more often than large, so that a number would be 0 too often. */
const seldom = fc.constantFrom(true, ...Array<boolean>(15).fill(false))

const ONE = { id: fc.constant(ID) }
const ONE_KNOWN = { ...ONE, claim: fc.constant('last') }
const ANY = { claim: anyClaim }

const read = breakerStep(READ, none, () => [], ANY)
const open = breakerStep(OPEN, opening, (args) => args, ANY)
const openShort = breakerStep(OPEN, shortOpening, (args) => args, ONE_KNOWN)
const close = breakerStep(CLOSE, none, () => [], ANY)
const operate = breakerStep(
  COMMAND,
  fc.tuple(fc.constantFrom('trip', 'trip', 'reset', 'disable', 'enable'), opening, duration),
  ([command, state, tripFor]) => [command, ...state, tripFor],
  ANY,
)
const reset = breakerStep(COMMAND, none, () => ['reset', 0, 0, 0, 0], ONE_KNOWN)

/** Another client has deleted or changed fields, or Redis has lost all data. */
const lose = command(
  fc.oneof(
    fc.constantFrom(...breakerKeys(ID)).map((key) => ['DEL', key]),
    fc.constant(['FLUSHALL']),
    fc
      .constantFrom('epoch', 'state', 'until', 'granted', 'wantedHold', 'openedAt')
      .map((field) => ['HDEL', breakerKeys(ID)[0] ?? '', field]),
  ),
)
const writeForeignState = command(
  fc
    .tuple(
      ids,
      fc.constantFrom('epoch', 'state', 'until', 'granted', 'successes', 'lease:1:1', 'wantedHold', 'off'),
      fc.constantFrom('nan', '-1', '1e300', 'open', 'half_open', '12.5', '1', '3'),
    )
    .map(([id, field, value]) => ['HSET', breakerKeys(id)[0] ?? '', field, value]),
)

/** How long nodes let permits wait for a caller: few values, so that two nodes often have the same. */
const holds = fc.constantFrom(500, 1000, 1000, 2000)

const grant = breakerStep(
  GRANT_PROBE,
  fc.tuple(fc.integer({ min: 1, max: 3 }), duration, fc.constantFrom(0, 150, 150, 100_000), duration),
  (args) => args,
  ANY,
)
/** Requests of a permit just before the end of the open duration, or in any of the last 3 s of it. */
const grantShort = (max: number, aheadMs: number): Creation =>
  breakerStep(
    GRANT_PROBE,
    fc.tuple(shortDuration, holds),
    ([lease, hold]) => [max, lease, aheadMs, hold],
    ONE,
  )
const extend = (back: fc.Arbitrary<number>, ms: fc.Arbitrary<number>): Creation =>
  breakerStep(EXTEND_PROBE, fc.tuple(back, ms), ([at, lease], known) => [tokenOf(known, at), lease], ONE)
const renew = (back: fc.Arbitrary<number>, ms: fc.Arbitrary<number>): Creation =>
  breakerStep(
    EXTEND_PROBE,
    fc.tuple(back, ms, holds),
    ([at, lease, hold], known) => [tokenOf(known, at), lease, hold],
    ONE,
  )
const settle = (outcome: string, back: fc.Arbitrary<number>): Creation =>
  breakerStep(
    SETTLE_PROBE,
    fc.tuple(back, fc.constantFrom(1, 2, 2, 3), shortOpening),
    ([at, threshold, state], known) => [tokenOf(known, at), outcome, threshold, ...state],
    ONE,
  )
const anyToken = fc.nat(3)
const lastToken = fc.constantFrom(0, 0, 0, 1)

const sync = breakerStep(
  SYNC,
  fc.tuple(
    fc.constantFrom('settings 1', 'settings 1', 'settings 2'),
    fc.constantFrom('open', 'closed'),
    duration,
    duration,
    small,
    fc.constantFrom(0, 1),
    fc.constantFrom(0, 0, 20_000),
  ),
  ([text, state, left, openFor, openings, off, tripFor]) => [
    text,
    state,
    left,
    openFor,
    openings,
    1,
    off,
    Math.floor(left / 2),
    tripFor,
  ],
  ANY,
)

const quorums = fc.constantFrom(0.3, 0.5, 0.5, 2 / 3)
/** Begins a round or joins it. The number of nodes can be missing. */
const beginRound = (node: string): Creation =>
  breakerStep(
    VOTE,
    fc.tuple(shortOpening, quorums, fc.constantFrom(0, 1, 2, 2, 3, 3, 4), seldom),
    ([state, quorum, live, isUnknown]) => [...state, quorum, 'f', '', ...(isUnknown ? [] : [live])],
    { ...ONE_KNOWN, node: fc.constant(node) },
  )
const answer = (node: string): Creation =>
  breakerStep(
    VOTE,
    fc.tuple(shortOpening, quorums, fc.constantFrom('f', 'f', 'f', 'h', 'n', 'n'), seldom),
    ([state, quorum, vote, isOld], { round }) => [...state, quorum, vote, isOld ? '1' : round],
    { ...ONE_KNOWN, node: fc.constant(node) },
  )
const endRound = (node: string): Creation =>
  breakerStep(VOTE, fc.tuple(shortOpening, quorums), ([state, quorum]) => [...state, quorum, '', ''], {
    ...ONE_KNOWN,
    node: fc.constant(node),
  })
const vote = breakerStep(
  VOTE,
  fc.tuple(opening, quorums, fc.constantFrom('f', 'h', 'n', ''), fc.constantFrom('', 'last'), fc.nat(4)),
  ([state, quorum, vote, round, live], known) => [
    ...state,
    quorum,
    vote,
    ...(round === '' ? ['', live] : [known.round]),
  ],
  ANY,
)
const writeForeignVote = command(
  fc
    .tuple(fc.constantFrom('live', 'at', 'n:n3'), fc.constantFrom('x', '-1', 'f', '1'))
    .map((pair) => ['HSET', breakerKeys(ID)[1] ?? '', ...pair]),
)

const count = (thresholds: fc.Arbitrary<number>, rates: fc.Arbitrary<number>): Creation =>
  breakerStep(
    COUNT,
    fc.tuple(fc.nat(3), fc.constantFrom(0, 1, 1, 2), thresholds, rates, seldom),
    ([successes, failures, threshold, rate, hasSuccess]) => [
      successes + failures,
      failures,
      COUNT_WINDOW_MS,
      threshold,
      rate,
      4,
      hasSuccess ? 1 : 0,
      500,
      1,
    ],
    ONE,
  )
const countFew = count(fc.constantFrom(3, 4, 5, 6, 9), fc.constantFrom(0, 0, 0.5, 0.25))
/** A window that never opens the breaker, so that its buckets become old. */
const countMany = breakerStep(
  COUNT,
  fc.tuple(fc.nat(3), fc.nat(2), fc.constantFrom(30, 60)),
  ([successes, failures, threshold]) => [
    successes + failures,
    failures,
    COUNT_WINDOW_MS,
    threshold,
    0,
    4,
    0,
    500,
    1,
  ],
  ONE_KNOWN,
)
const writeForeignCount = command(
  fc
    .tuple(fc.constantFrom('c', 'f'), fc.constantFrom('99999999999', '1', 'x'), fc.constantFrom('3', '1e300'))
    .map(([kind, bucket, value]) => ['HSET', breakerKeys(ID)[2] ?? '', kind + bucket, value]),
)

/** All commands about breakers. */
export const anyBreakerStep: Creation = fc.oneof(
  read,
  open,
  close,
  operate,
  grant,
  extend(anyToken, duration),
  renew(anyToken, duration),
  settle('success', anyToken),
  settle('failure', anyToken),
  settle('nothing', anyToken),
  sync,
  vote,
  countFew,
  writeForeignState,
  lose,
)

/** What nodes know and Redis has lost: openings, commands and synchronizations within the same millisecond. */
export const epochSteps: Creation = fc.oneof(open, openShort, close, operate, sync, sync, read, lose)

export const probeSteps: Creation = fc.oneof(
  { weight: 3, arbitrary: openShort },
  { weight: 6, arbitrary: fc.oneof(...[1, 1, 2, 2, 3].map((max) => grantShort(max, 3000))) },
  { weight: 3, arbitrary: fc.oneof(...[1, 2].map((max) => grantShort(max, 150))) },
  { weight: 2, arbitrary: extend(lastToken, shortDuration) },
  { weight: 3, arbitrary: renew(lastToken, shortDuration) },
  { weight: 5, arbitrary: settle('success', lastToken) },
  { weight: 1, arbitrary: settle('failure', lastToken) },
  { weight: 2, arbitrary: settle('nothing', lastToken) },
  { weight: 1, arbitrary: settle('success', anyToken) },
  { weight: 1, arbitrary: fc.oneof(sync, operate, writeForeignState, lose) },
)

export const voteSteps: Creation = fc.oneof(
  { weight: 4, arbitrary: beginRound('n1') },
  { weight: 1, arbitrary: beginRound('n2') },
  { weight: 4, arbitrary: fc.oneof(...['n1', 'n2', 'n3', 'n4'].map(answer)) },
  { weight: 2, arbitrary: endRound('n1') },
  { weight: 2, arbitrary: reset },
  { weight: 1, arbitrary: fc.oneof(vote, writeForeignVote, writeForeignVote, sync) },
)

export const countSteps: Creation = fc.oneof(
  { weight: 8, arbitrary: countFew },
  { weight: 2, arbitrary: reset },
  { weight: 1, arbitrary: fc.oneof(writeForeignCount, openShort, lose) },
)
export const longCountSteps: Creation = fc.oneof(
  { weight: 20, arbitrary: countMany },
  { weight: 1, arbitrary: writeForeignCount },
)
