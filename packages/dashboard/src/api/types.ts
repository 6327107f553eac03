import type {
  auditSchema,
  breakerEventSchema,
  breakerSchema,
  deadLetterSchema,
  errorRecordSchema,
  eventSchema,
  policySchema,
  seriesSchema,
  sessionSchema,
  summarySchema,
  windowSchema,
} from '@holdfast/runtime'

/** What a schema describes, as the wire spells it. */
type Wire<S extends { _zod: { input: unknown } }> = S['_zod']['input']

export type Audit = Wire<typeof auditSchema>
export type Breaker = Wire<typeof breakerSchema>
export type BreakerChange = Wire<typeof breakerEventSchema>
export type DeadLetter = Wire<typeof deadLetterSchema>
export type ErrorRecord = Wire<typeof errorRecordSchema>
export type FeedEvent = Wire<typeof eventSchema>
export type Policy = Wire<typeof policySchema>
export type Series = Wire<typeof seriesSchema>
export type Session = Wire<typeof sessionSchema>
export type Summary = Wire<typeof summarySchema>
export type Window = Wire<typeof windowSchema>

export interface Page<T> {
  items: T[]
  cursor?: string
}

type Counts = Record<DeadLetter['status'], number>

export interface DeadLetterStats {
  total: number
  by_status: Counts
  by_operation: Record<string, Counts>
  oldest?: string | null
}

export interface Job {
  job_id: string
  status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  succeeded: number
  failed: number
  skipped: number
  total?: number | null
  started_at: string
  ended_at?: string | null
  message?: string | null
}

export interface PoolSummary {
  id: string
  size: number
  by_status: Record<string, number>
}

export interface Member {
  id: string
  url?: string | null
  weight: number
  region?: string | null
  status: 'available' | 'open' | 'half_open' | 'resting' | 'drained' | 'disabled'
  total_attempts: number
  success_rate?: number | null
  avg_latency: number
  circuit_breaker_opens: number
  score?: number | null
}

export interface Explanation {
  operation: string
  subsystem?: string | null
  enabled: boolean
  policies: {
    kind: string
    policy_id: string
    enabled: boolean
    values: Record<string, { value?: unknown; origin: string; where?: string | null }>
    breaker?: string | null
  }[]
  notes: string[]
}

export interface ConfigVersion {
  version: number
  by: string
  reason?: string | null
  at: string
}

export interface Validation {
  valid: boolean
  errors: { path: string; line?: number | null; message: string }[]
}

/** A process of the fleet. */
export interface Node {
  id: string
  version: string
  started_at: string
  last_seen: string
  /** Whether it is the one that answers. */
  self: boolean
  /** Its breakers that are not closed. */
  opinions: Record<string, 'open' | 'half_open'>
}

export interface Fleet {
  items: Node[]
  /** How the one that answers stands with what is shared; absent where it shares nothing. */
  shared?: { up: boolean; lost_since?: string | null }
}
