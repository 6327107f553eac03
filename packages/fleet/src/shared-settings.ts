import type { CircuitBreaker } from 'holdfast'

/** How a breaker is shared. */
export interface ShareOptions {
  /** Which state nodes share. */
  share: 'none' | 'state' | 'counts' | 'quorum'
  /** The fraction of nodes that must agree, for `quorum`. */
  quorum: number
  /** How many calls in the window give a node a vote. */
  minimumCalls: number
}

const SHARED_FIELDS = [
  'failureThreshold',
  'windowType',
  'windowDuration',
  'failureRate',
  'slowCallDuration',
  'slowCallRate',
  'timeoutDuration',
  'timeoutMultiplier',
  'maxTimeoutDuration',
  'successThreshold',
  'halfOpenMax',
  'probeLease',
  'adaptive',
] as const

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
