import type {
  AuditRecord,
  CircuitBreakerEvent,
  Configuration,
  DeadLetters,
  ErrorRecord,
  MetricsByOperation,
  MetricsSummary,
  MetricsWindow,
  Wire,
} from '@holdfast/runtime'

export type {
  WireAttempt,
  WireBreaker,
  WireConfigDifference,
  WireCount,
  WireCreatedToken,
  WireDeadLetter,
  WireErrorGroup,
  WireErrorGroupDetails,
  WireErrorGroups,
  WireEvent,
  WireExplanation,
  WireFleet,
  WireJob,
  WireMember,
  WireNode,
  WirePolicy,
  WirePool,
  WireSession,
  WireToken,
  WireValidation,
} from '@holdfast/server/internal'

export type WireAudit = Wire<AuditRecord>
export type WireBreakerChange = Wire<CircuitBreakerEvent>
export type WireConfigVersion = Wire<Awaited<ReturnType<Configuration['history']>>[number]>
export type WireDeadLetterStats = Wire<Awaited<ReturnType<DeadLetters['stats']>>>
export type WireErrorRecord = Wire<ErrorRecord>
export type WireOperations = Wire<MetricsByOperation>
export type WireMetricsWindow = Wire<MetricsWindow>
export type WireSummary = Wire<MetricsSummary>

export interface WirePage<T> {
  items: T[]
  cursor?: string
}
