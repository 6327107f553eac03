import type { RetryPolicy } from '@holdfast/records'
import { type CompiledRetryPolicy, delayRanges } from 'holdfast/internal'

/** A delay in milliseconds: without jitter, and the minimum and maximum with jitter. */
export interface Wait {
  /** The delay without jitter. */
  readonly base: number
  /** The minimum with jitter. */
  readonly min: number
  /** The maximum with jitter. */
  readonly max: number
}

/** The delay before an attempt. */
export interface ScheduledWait extends Wait {
  /** The attempt after the delay: 2 for the first retry. */
  readonly attempt: number
}

/** The delays of a policy. */
export interface Schedule {
  readonly waits: readonly ScheduledWait[]
  /** The sum of these delays. */
  readonly total: Wait
  /** Whether there are more delays than these. */
  readonly more: boolean
}

/** How many delays are computed. */
const MAX_WAITS = 50

/** Computes the delays of a policy. A Retry-After header or a deadline may change any of them. */
export function computeSchedule(policy: RetryPolicy): Schedule {
  const ranges = delayRanges(policy as unknown as CompiledRetryPolicy)
  const waits: ScheduledWait[] = []
  const retries = policy.enabled ? policy.maxAttempts - 1 : 0
  for (let n = 1; n <= Math.min(retries, MAX_WAITS); n++) {
    const { base, min, max } = ranges.next().value
    waits.push({ attempt: n + 1, base: roundMs(base), min: roundMs(min), max: roundMs(max) })
  }
  const totalOf = (key: keyof Wait): number => roundMs(waits.reduce((total, wait) => total + wait[key], 0))
  return {
    waits,
    total: { base: totalOf('base'), min: totalOf('min'), max: totalOf('max') },
    more: retries > MAX_WAITS,
  }
}

/** Rounds away floating-point noise below a nanosecond. */
const roundMs = (ms: number): number => Math.round(ms * 1e6) / 1e6
