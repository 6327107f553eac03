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
type WireInput<S extends { _zod: { input: unknown } }> = S['_zod']['input']

export type WireAudit = WireInput<typeof auditSchema>
export type WireBreaker = WireInput<typeof breakerSchema>
export type WireBreakerChange = WireInput<typeof breakerEventSchema>
export type WireDeadLetter = WireInput<typeof deadLetterSchema>
export type WireErrorRecord = WireInput<typeof errorRecordSchema>
export type WireEvent = WireInput<typeof eventSchema>
export type WirePolicy = WireInput<typeof policySchema>
export type WireSeries = WireInput<typeof seriesSchema>
export type WireSession = WireInput<typeof sessionSchema>
export type WireSummary = WireInput<typeof summarySchema>
export type WireMetricsWindow = WireInput<typeof windowSchema>

export interface WirePage<T> {
  items: T[]
  cursor?: string
}

type StatusCounts = Record<WireDeadLetter['status'], number>

export interface WireDeadLetterStats {
  total: number
  by_status: StatusCounts
  by_operation: Record<string, StatusCounts>
  oldest?: string | null
}

export interface WireJob {
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

export interface WirePoolSummary {
  id: string
  size: number
  by_status: Record<string, number>
}

export interface WireMember {
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

export interface WireExplanation {
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

export interface WireConfigVersion {
  version: number
  by: string
  reason?: string | null
  at: string
}

export interface WireValidation {
  valid: boolean
  errors: { path: string; line?: number | null; message: string }[]
}

/** A process of the fleet. */
export interface WireNode {
  id: string
  version: string
  started_at: string
  last_seen: string
  /** Whether it is the one that answers. */
  self: boolean
  /** Its breakers that are not closed. */
  opinions: Record<string, 'open' | 'half_open'>
}

export interface WireFleet {
  items: WireNode[]
  /** How the one that answers stands with what is shared; absent where it shares nothing. */
  shared?: { up: boolean; lost_since?: string | null }
}
