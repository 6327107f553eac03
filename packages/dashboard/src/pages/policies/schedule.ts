import { type CompiledRetryPolicy, delayRanges } from 'holdfast/internal'

/** A wait in seconds: without jitter, and its range with jitter. */
export interface WaitRange {
  readonly base: number
  readonly least: number
  readonly most: number
}

/** The wait before an attempt. */
interface PolicyWait extends WaitRange {
  readonly attempt: number
}

/** The waits of a policy. */
export interface PolicySchedule {
  /** The first waits, for the chart. */
  readonly waits: readonly PolicyWait[]
  /** The number of all waits; Infinity for unlimited attempts. */
  readonly count: number
  /** The sum of all waits; undefined for unlimited attempts. */
  readonly total: WaitRange | undefined
  /** Whether the sum is a lower bound, because the waits still grow after the last one that is computed. */
  readonly isMinimum: boolean
  /** The last computed wait; further waits are not shorter. */
  readonly last: WaitRange | undefined
}

/** The maximum number of waits in the chart. */
const MAX_DRAWN_WAITS = 20

/** How many waits are computed one by one. Later waits count like the last one: most policies reach their maximum before. */
const MAX_COMPUTED_WAITS = 2000

const NO_WAIT: WaitRange = { base: 0, least: 0, most: 0 }

const toMs = (seconds: unknown): number =>
  typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : Number.NaN

/** The waits of a policy in the form of the engine; undefined while the values are not complete or not valid. */
function toCompiledPolicy(wire: Record<string, unknown>): CompiledRetryPolicy | undefined {
  const policy = {
    backoffType: wire['backoff_type'],
    baseDelay: toMs(wire['base_delay']),
    multiplier: Number(wire['multiplier']),
    maxDelay: toMs(wire['max_delay']),
    jitterType: wire['jitter_type'],
    jitterAmount: Number(wire['jitter_amount']),
    jitterMin: toMs(wire['jitter_min']),
    jitterMax: toMs(wire['jitter_max']),
  }
  const numbers = Object.values(policy).filter((value) => typeof value === 'number')
  if (numbers.some((value) => Number.isNaN(value))) return undefined
  if (policy.jitterAmount < 0 || policy.jitterAmount > 1 || policy.multiplier < 1) return undefined
  return policy as unknown as CompiledRetryPolicy
}

const addWaits = (a: WaitRange, b: WaitRange, times = 1): WaitRange => ({
  base: a.base + times * b.base,
  least: a.least + times * b.least,
  most: a.most + times * b.most,
})

/**
 * The waits of a policy on the wire, computed by the engine. Undefined while the values are not complete or not valid.
 */
export function computeSchedule(wire: Record<string, unknown>): PolicySchedule | undefined {
  const attempts =
    wire['max_attempts'] === 'Infinity' ? Number.POSITIVE_INFINITY : Number(wire['max_attempts'])
  const engine = toCompiledPolicy(wire)
  if (!(attempts >= 1) || engine === undefined) return undefined
  const count = attempts - 1
  const ranges = delayRanges(engine)
  const waits: PolicyWait[] = []
  let total = NO_WAIT
  let last: WaitRange | undefined
  let computed = 0
  let isConstant = false
  while (computed < Math.min(count, MAX_COMPUTED_WAITS) && !(isConstant && computed >= MAX_DRAWN_WAITS)) {
    computed++
    const { base, min, max } = ranges.next().value
    const wait = { base: base / 1000, least: min / 1000, most: max / 1000 }
    isConstant = last?.base === wait.base && last.least === wait.least && last.most === wait.most
    last = wait
    total = addWaits(total, wait)
    if (waits.length < MAX_DRAWN_WAITS) waits.push({ attempt: computed + 1, ...wait })
  }
  if (last === undefined) return { waits, count, total, isMinimum: false, last }
  return {
    waits,
    count,
    total: count === Number.POSITIVE_INFINITY ? undefined : addWaits(total, last, count - computed),
    isMinimum: count > computed && !isConstant,
    last,
  }
}
