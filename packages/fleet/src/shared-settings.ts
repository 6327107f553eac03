import type { BreakerEntry } from '@holdfast/config'
import type { CircuitBreaker } from 'holdfast'
import { BREAKER_DEFAULTS } from 'holdfast/internal'

/** How a breaker is shared. */
export interface ShareOptions {
  /** Which state nodes share. */
  share: NonNullable<BreakerEntry['share']>
  /** The fraction of nodes that must agree, for `quorum`. */
  quorum: number
  /** How many calls in the window give a node a vote. */
  minimumCalls: number
}

const { id: _, clock: __, failureOn: ___, minimumCalls: ____, ...sharedSettings } = BREAKER_DEFAULTS

/** Every setting of a breaker except its name, its clock, its matchers, which can be functions, and the minimum for a vote. */
const SHARED_FIELDS = Object.keys(sharedSettings) as (keyof typeof sharedSettings)[]

/** The settings that two nodes must have in common to decide together, as text. */
export function serializeSettings({ settings }: CircuitBreaker, options: ShareOptions): string {
  const { share, quorum, minimumCalls } = options
  const shared = Object.fromEntries(SHARED_FIELDS.map((field) => [field, settings[field] ?? null]))
  return JSON.stringify({ ...shared, share, ...(share === 'quorum' && { quorum, minimumCalls }) })
}

/** The fields in which two serialized settings differ. */
export function differingFields(a: string, b: string): string[] {
  const [one, other] = [a, b].map((text) => {
    try {
      return Object(JSON.parse(text)) as Record<string, unknown>
    } catch {
      return {}
    }
  }) as [Record<string, unknown>, Record<string, unknown>]
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].filter((name) => one[name] !== other[name]).toSorted()
}
