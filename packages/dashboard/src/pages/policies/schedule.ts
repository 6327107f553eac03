import { type CompiledRetryPolicy, computeDelay } from 'holdfast/internal'

/** A wait in seconds: without jitter, and its range with jitter. */
export interface PolicyWait {
  readonly attempt: number
  readonly base: number
  readonly least: number
  readonly most: number
}

/** The maximum number of waits in the chart. */
const MAX_WAITS = 20

/** The largest result of a random function, which is always below 1. */
const MAX_RANDOM = 1 - 2 ** -53

const toMs = (seconds: unknown): number =>
  typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : Number.NaN

/**
 * The waits of a policy on the wire, computed by the engine. Undefined while the values are not complete or not valid.
 */
export function computeWaits(wire: Record<string, unknown>): PolicyWait[] | undefined {
  const attempts =
    wire['max_attempts'] === 'Infinity' ? Number.POSITIVE_INFINITY : Number(wire['max_attempts'])
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
  if (!(attempts >= 1) || numbers.some((value) => Number.isNaN(value))) return undefined
  if (policy.jitterAmount < 0 || policy.jitterAmount > 1 || policy.multiplier < 1) return undefined
  const engine = policy as unknown as CompiledRetryPolicy
  const plain = { ...engine, jitterType: 'none' as const }
  let [base, least, most] = [policy.baseDelay, policy.baseDelay, policy.baseDelay]
  return Array.from({ length: Math.min(attempts - 1, MAX_WAITS) }, (_, index) => {
    base = computeDelay(plain, index + 1, base, () => 0)
    least = computeDelay(engine, index + 1, least, () => 0)
    most = computeDelay(engine, index + 1, most, () => MAX_RANDOM)
    return { attempt: index + 2, base: base / 1000, least: least / 1000, most: most / 1000 }
  })
}
