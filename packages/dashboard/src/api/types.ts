import type {
  AuditRecord,
  CircuitBreakerEvent,
  CircuitBreakerState,
  Configuration,
  DeadLetter,
  DeadLetters,
  ErrorRecord,
  Explanation,
  MetricsByOperation,
  MetricsSummary,
  MetricsWindow,
  RetryEvent,
  RetryPolicy,
  RetrySession,
  Wire,
} from '@holdfast/runtime'

export type {
  WireConfigDifference,
  WireCreatedToken,
  WireErrorGroup,
  WireErrorGroupDetails,
  WireErrorGroups,
  WireFleet,
  WireJob,
  WireMember,
  WireNode,
  WirePool,
  WireToken,
  WireValidation,
} from '@holdfast/server/internal'

export type WireAudit = Wire<AuditRecord>
export type WireBreaker = Wire<CircuitBreakerState>
export type WireBreakerChange = Wire<CircuitBreakerEvent>
export type WireConfigVersion = Wire<Awaited<ReturnType<Configuration['history']>>[number]>
export type WireDeadLetter = Wire<DeadLetter>
export type WireDeadLetterStats = Wire<Awaited<ReturnType<DeadLetters['stats']>>>
export type WireErrorRecord = Wire<ErrorRecord>
export type WireEvent = Wire<RetryEvent>
export type WireExplanation = Wire<Explanation>
export type WireOperations = Wire<MetricsByOperation>
export type WireMetricsWindow = Wire<MetricsWindow>
export type WirePolicy = Wire<RetryPolicy>
export type WireSession = Wire<RetrySession>
export type WireSummary = Wire<MetricsSummary>

export interface WirePage<T> {
  items: T[]
  cursor?: string
}
