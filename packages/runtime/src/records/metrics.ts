import { z } from 'zod'
import { instant, seconds, tally } from '../codec/leaf.js'
import { codec, type Twin } from '../codec/twin.js'

const share = z.number().min(0).max(1)

export const summarySchema = z.object({
  total_retries: tally(),
  success_by_attempt: z.record(z.string(), tally()),
  circuit_breaker_events_count: tally(),
  retention_hours: z.number(),
})
/** Retries of the time that is kept. `successByAttempt` is keyed by the number of the attempt that succeeded. */
export type MetricsSummary = Twin<typeof summarySchema>
export const summaryCodec = codec(summarySchema)

export const seriesSchema = z.object({
  data_points: z.array(
    z.object({
      timestamp: instant(),
      total_requests: tally(),
      total_retries: tally(),
      success_rate: share,
      avg_latency: seconds(),
    }),
  ),
})
/** One point an hour or a day, oldest first. */
export type MetricsSeries = Twin<typeof seriesSchema>
export const seriesCodec = codec(seriesSchema)

export const byMemberSchema = z.object({
  proxies: z.record(
    z.string(),
    z.object({
      proxy_id: z.string(),
      total_attempts: tally(),
      success_count: tally(),
      failure_count: tally(),
      avg_latency: seconds(),
      circuit_breaker_opens: tally(),
    }),
  ),
})
/** How each member of the pools did, keyed by its id. */
export type MetricsByMember = Twin<typeof byMemberSchema>
export const byMemberCodec = codec(byMemberSchema)

const part = z.object({ sessions: tally(), success_rate: share, average_attempts: z.number() })

export const windowSchema = z.object({
  time_window_start: instant(),
  time_window_end: instant(),
  total_sessions: tally(),
  successful_sessions: tally(),
  failed_sessions: tally(),
  total_attempts: tally(),
  average_attempts_per_session: z.number(),
  max_attempts_in_session: tally(),
  total_duration: seconds(),
  average_duration_per_session: seconds(),
  by_policy: z.record(z.string(), part),
  by_subsystem: z.record(z.string(), part),
  failure_by_reason: z.record(z.string(), tally()),
  latency: z.object({ p50: seconds(), p95: seconds(), p99: seconds() }),
})
/** Everything counted between two points in time. */
export type MetricsWindow = Twin<typeof windowSchema>
export const windowCodec = codec(windowSchema)
