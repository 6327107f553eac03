import type { RetryPolicy } from '@holdfast/records'
import { computeDelay, type CompiledRetryPolicy as EnginePolicy } from 'holdfast/internal'

/** A wait, in milliseconds: without chance, and the least and most that chance makes of it. */
export interface Wait {
  readonly base: number
  readonly min: number
  readonly max: number
}

/** The wait before an attempt. */
export interface ScheduledWait extends Wait {
  /** The attempt that follows the wait: 2 for the first retry. */
  readonly attempt: number
}

/** The waits that a policy means. */
export interface Schedule {
  readonly waits: readonly ScheduledWait[]
  /** All these waits together. */
  readonly total: Wait
  /** Whether there are more waits than these. */
  readonly more: boolean
}

/** So many waits are worked out. */
const MAX_WAITS = 50

/** The most that chance gives: it never gives 1 itself. */
const MAX_RANDOM = 1 - 2 ** -53

/** Works out the waits of a policy. A server's Retry-After, or a deadline, may make another of any. */
export function computeSchedule(policy: RetryPolicy): Schedule {
  const corePolicy = policy as unknown as EnginePolicy
  const withoutJitter = { ...corePolicy, jitterType: 'none' as const }
  const waits: ScheduledWait[] = []
  let [before, least, most] = [policy.baseDelay, policy.baseDelay, policy.baseDelay]
  const retries = policy.enabled ? policy.maxAttempts - 1 : 0
  for (let n = 1; n <= Math.min(retries, MAX_WAITS); n++) {
    before = computeDelay(withoutJitter, n, before, () => 0)
    least = computeDelay(corePolicy, n, least, () => 0)
    most = computeDelay(corePolicy, n, most, () => MAX_RANDOM)
    waits.push({ attempt: n + 1, base: roundMs(before), min: roundMs(least), max: roundMs(most) })
  }
  const totalOf = (key: keyof Wait): number => roundMs(waits.reduce((total, wait) => total + wait[key], 0))
  return {
    waits,
    total: { base: totalOf('base'), min: totalOf('min'), max: totalOf('max') },
    more: retries > MAX_WAITS,
  }
}

/** Thousandths of a microsecond are noise. */
const roundMs = (ms: number): number => Math.round(ms * 1e6) / 1e6
