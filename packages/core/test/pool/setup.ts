import { type Classification, classify, type Member, Pool, type PoolOptions } from '../../src/index.js'
import type { Selection, SelectionOutcome } from '../../src/pool/members/member-pool.js'
import { type FakeClock, fakeClock, seededRandom } from '../../src/testing/index.js'

export { problemsOf } from '../breaker/setup.js'

/** Members called by these ids. */
export const called = (...ids: string[]): Member<string>[] =>
  ids.map((id) => ({ id, value: `value of ${id}` }))

/** A pool on a clock that stands still, with chance from a seed. */
export function made(options: Partial<PoolOptions<string>> = {}): { pool: Pool<string>; clock: FakeClock } {
  const clock = fakeClock()
  const random = seededRandom(1)
  return { pool: new Pool({ id: 'p', members: called('a', 'b', 'c'), clock, random, ...options }), clock }
}

export const SUCCESS: SelectionOutcome = {
  hasThrown: false,
  result: 'fine',
  classification: undefined,
  breakerOutcome: 'success',
  duration: 0,
}

/** What the engine tells a pool of an attempt that threw. */
export function thrown(error: unknown, duration = 0): SelectionOutcome {
  const classification = classify(error)
  return { hasThrown: true, result: error, classification, breakerOutcome: blamed(classification), duration }
}

/** What the engine tells a pool of an attempt that returned a response. */
export function answered(status: number, headers: Record<string, string> = {}): SelectionOutcome {
  const result = new Response(null, { status, headers })
  const classification = classify(result)
  return {
    hasThrown: false,
    result,
    classification,
    breakerOutcome: blamed(classification) ?? 'success',
    duration: 0,
  }
}

const blamed = ({ category, kind }: Classification) =>
  category === 'permanent' || kind === 'rate_limited' ? undefined : 'failure'

export const FAILURE = thrown(new Error('down'))

/** What an attempt says that was aborted. */
export const NOTHING: SelectionOutcome = {
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

/** A member for an attempt, which there must be. */
export function taken(
  pool: Pool<string>,
  context?: unknown,
  picks: readonly Selection<string>[] = [],
): Selection<string> {
  const pick = pool.select(context, picks, undefined)
  if (pick === undefined) throw new Error('nobody is available')
  return pick
}

/** One call of one attempt; the id of its member. */
export function call(pool: Pool<string>, outcome: SelectionOutcome = SUCCESS, context?: unknown): string {
  const pick = taken(pool, context)
  pool.recordOutcome(pick, outcome, [pick])
  return pick.member.id
}

/** The members of so many calls of one attempt that succeed. */
export const calls = (pool: Pool<string>, times: number, context?: unknown): string[] =>
  Array.from({ length: times }, () => call(pool, SUCCESS, context))

/** The members of one call whose attempts all fail. */
export function attempts(pool: Pool<string>, times: number, context?: unknown, outcome = FAILURE): string[] {
  const picks: Selection<string>[] = []
  for (let i = 0; i < times; i++) {
    const pick = taken(pool, context, picks)
    picks.push(pick)
    pool.recordOutcome(pick, outcome, picks)
  }
  return picks.map(({ member }) => member.id)
}

/** How often each id is in the list. */
export function tally(ids: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const id of ids) counts[id] = (counts[id] ?? 0) + 1
  return counts
}
