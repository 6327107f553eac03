import { type Classification, classify, type Member, Pool, type PoolOptions } from '../../src/index.js'
import type { Selection, SelectionOutcome } from '../../src/pool/members/member-pool.js'
import { type FakeClock, fakeClock, seededRandom } from '../../src/testing/index.js'

export { problemsOf } from '../breaker/setup.js'

/** Members with these ids. */
export const membersNamed = (...ids: string[]): Member<string>[] =>
  ids.map((id) => ({ id, value: `value of ${id}` }))

/** A pool with a fake clock and a seeded random source. */
export function createPool(options: Partial<PoolOptions<string>> = {}): {
  pool: Pool<string>
  clock: FakeClock
} {
  const clock = fakeClock()
  const random = seededRandom(1)
  return {
    pool: new Pool({ id: 'p', members: membersNamed('a', 'b', 'c'), clock, random, ...options }),
    clock,
  }
}

export const SUCCESS: SelectionOutcome = {
  hasThrown: false,
  result: 'fine',
  classification: undefined,
  breakerOutcome: 'success',
  duration: 0,
}

/** The outcome of an attempt that threw, as an execution reports it to a pool. */
export function thrown(error: unknown, duration = 0): SelectionOutcome {
  const classification = classify(error)
  return {
    hasThrown: true,
    result: error,
    classification,
    breakerOutcome: breakerOutcomeOf(classification),
    duration,
  }
}

/** The outcome of an attempt that returned a response, as an execution reports it to a pool. */
export function answered(status: number, headers: Record<string, string> = {}): SelectionOutcome {
  const result = new Response(null, { status, headers })
  const classification = classify(result)
  return {
    hasThrown: false,
    result,
    classification,
    breakerOutcome: breakerOutcomeOf(classification) ?? 'success',
    duration: 0,
  }
}

const breakerOutcomeOf = ({ category, kind }: Classification) =>
  category === 'permanent' || kind === 'rate_limited' ? undefined : 'failure'

export const FAILURE = thrown(new Error('down'))

/** The outcome of an aborted attempt. */
export const ABORTED: SelectionOutcome = {
  hasThrown: true,
  result: 'aborted',
  classification: undefined,
  breakerOutcome: undefined,
  duration: 0,
}

export const withCode = (code: string, options: ErrorOptions = {}): Error =>
  Object.assign(new Error(code, options), { code })

export const withStatus = (status: number, headers: Record<string, string> = {}): Error =>
  Object.assign(new Error(`status ${status}`), { status, headers })

/** Selects a member for an attempt; throws if none is available. */
export function selectMember(
  pool: Pool<string>,
  context?: unknown,
  selections: readonly Selection<string>[] = [],
): Selection<string> {
  const selection = pool.select(context, selections, undefined)
  if (selection === undefined) throw new Error('no member is available')
  return selection
}

/** Runs one call with one attempt; returns the id of its member. */
export function call(pool: Pool<string>, outcome: SelectionOutcome = SUCCESS, context?: unknown): string {
  const selection = selectMember(pool, context)
  pool.recordOutcome(selection, outcome, [selection])
  return selection.member.id
}

/** Runs several successful calls with one attempt each; returns the ids of their members. */
export const calls = (pool: Pool<string>, times: number, context?: unknown): string[] =>
  Array.from({ length: times }, () => call(pool, SUCCESS, context))

/** Runs one call whose attempts all fail; returns the ids of their members. */
export function attempts(pool: Pool<string>, times: number, context?: unknown, outcome = FAILURE): string[] {
  const selections: Selection<string>[] = []
  for (let i = 0; i < times; i++) {
    const selection = selectMember(pool, context, selections)
    selections.push(selection)
    pool.recordOutcome(selection, outcome, selections)
  }
  return selections.map(({ member }) => member.id)
}

/** Counts how often each id is in the list. */
export function countById(ids: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const id of ids) counts[id] = (counts[id] ?? 0) + 1
  return counts
}
