import { computeDelay, type CompiledRetryPolicy as EnginePolicy } from 'holdfast/internal'
import type { RetryPolicy } from '../records/policy.js'

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
const SHOWN = 50

/** The most that chance gives: it never gives 1 itself. */
const MOST = 1 - 2 ** -53

/** Works out the waits of a policy. A server's Retry-After, or a deadline, may make another of any. */
export function scheduleOf(policy: RetryPolicy): Schedule {
  const engine = policy as unknown as EnginePolicy
  const plain = { ...engine, jitterType: 'none' as const }
  const waits: ScheduledWait[] = []
  let [before, least, most] = [policy.baseDelay, policy.baseDelay, policy.baseDelay]
  const retries = policy.enabled ? policy.maxAttempts - 1 : 0
  for (let n = 1; n <= Math.min(retries, SHOWN); n++) {
    before = computeDelay(plain, n, before, () => 0)
    least = computeDelay(engine, n, least, () => 0)
    most = computeDelay(engine, n, most, () => MOST)
    waits.push({ attempt: n + 1, base: tidy(before), min: tidy(least), max: tidy(most) })
  }
  const sum = (key: keyof Wait): number => tidy(waits.reduce((total, wait) => total + wait[key], 0))
  return {
    waits,
    total: { base: sum('base'), min: sum('min'), max: sum('max') },
    more: retries > SHOWN,
  }
}

/** Thousandths of a microsecond are noise. */
const tidy = (ms: number): number => Math.round(ms * 1e6) / 1e6
