import { z } from 'zod'
import { type CamelCased, createCodec } from './codec/case-codec.js'
import { durationSeconds, nonNegativeIntegerField, timestamp } from './codec/record-fields.js'

const fraction = z.number().min(0).max(1)

export const summarySchema = z.object({
  total_retries: nonNegativeIntegerField(),
  success_by_attempt: z.record(z.string(), nonNegativeIntegerField()),
  circuit_breaker_events_count: nonNegativeIntegerField(),
  retention_hours: z.number(),
})
/** Retries within the retention time. `successByAttempt` is keyed by the number of the successful attempt. */
export type MetricsSummary = CamelCased<typeof summarySchema>
export const summaryCodec = createCodec(summarySchema)

export const seriesSchema = z.object({
  data_points: z.array(
    z.object({
      timestamp: timestamp(),
      total_requests: nonNegativeIntegerField(),
      total_retries: nonNegativeIntegerField(),
      success_rate: fraction,
      avg_latency: durationSeconds(),
    }),
  ),
})
/** One point per hour or day, oldest first. */
export type MetricsSeries = CamelCased<typeof seriesSchema>
export const seriesCodec = createCodec(seriesSchema)

export const byMemberSchema = z.object({
  proxies: z.record(
    z.string(),
    z.object({
      proxy_id: z.string(),
      total_attempts: nonNegativeIntegerField(),
      success_count: nonNegativeIntegerField(),
      failure_count: nonNegativeIntegerField(),
      avg_latency: durationSeconds(),
      circuit_breaker_opens: nonNegativeIntegerField(),
    }),
  ),
})
/** The attempts of each pool member, keyed by its id. */
export type MetricsByMember = CamelCased<typeof byMemberSchema>
export const byMemberCodec = createCodec(byMemberSchema)

const labelSchema = z.object({
  sessions: nonNegativeIntegerField(),
  success_rate: fraction,
  average_attempts: z.number(),
})

export const windowSchema = z.object({
  time_window_start: timestamp(),
  time_window_end: timestamp(),
  total_sessions: nonNegativeIntegerField(),
  successful_sessions: nonNegativeIntegerField(),
  failed_sessions: nonNegativeIntegerField(),
  total_attempts: nonNegativeIntegerField(),
  average_attempts_per_session: z.number(),
  max_attempts_in_session: nonNegativeIntegerField(),
  total_duration: durationSeconds(),
  average_duration_per_session: durationSeconds(),
  by_policy: z.record(z.string(), labelSchema),
  by_subsystem: z.record(z.string(), labelSchema),
  failure_by_reason: z.record(z.string(), nonNegativeIntegerField()),
  latency: z.object({ p50: durationSeconds(), p95: durationSeconds(), p99: durationSeconds() }),
})
/** All counters between two times. */
export type MetricsWindow = CamelCased<typeof windowSchema>
export const windowCodec = createCodec(windowSchema)
