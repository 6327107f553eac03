import { z } from 'zod'
import { type CamelCased, createCodec } from './codec/case-codec.js'
import { describeFields } from './codec/describe-fields.js'
import { durationSeconds, nonNegativeIntegerField, timestamp } from './codec/record-fields.js'

const fraction = z.number().min(0).max(1)

/** The schema of a metrics summary, in the wire format. */
export const summarySchema = describeFields(
  z.object({
    total_retries: nonNegativeIntegerField(),
    success_by_attempt: z.record(z.string(), nonNegativeIntegerField()),
    circuit_breaker_events_count: nonNegativeIntegerField(),
    retention_hours: z.number(),
  }),
  {
    total_retries: 'The number of retries.',
    success_by_attempt: 'The number of successful calls by the number of the attempt that succeeded.',
    circuit_breaker_events_count: 'The number of state changes of breakers.',
    retention_hours: 'The number of hours that the summary covers.',
  },
)
/** Retries within the retention time. `successByAttempt` is keyed by the number of the successful attempt. */
export type MetricsSummary = CamelCased<typeof summarySchema>
/** Converts a metrics summary between the wire format and TypeScript. */
export const summaryCodec = createCodec(summarySchema)

/** The schema of a metrics time series, in the wire format. */
export const seriesSchema = describeFields(
  z.object({
    data_points: z.array(
      z.object({
        timestamp: timestamp(),
        total_requests: nonNegativeIntegerField(),
        total_retries: nonNegativeIntegerField(),
        success_rate: fraction,
        avg_latency: durationSeconds(),
      }),
    ),
  }),
  {
    data_points: 'One point for each hour or day, oldest first.',
  },
)
/** One point per hour or day, oldest first. */
export type MetricsSeries = CamelCased<typeof seriesSchema>
/** Converts a metrics time series between the wire format and TypeScript. */
export const seriesCodec = createCodec(seriesSchema)

/** The schema of the metrics of pool members, in the wire format. */
export const byMemberSchema = describeFields(
  z.object({
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
  }),
  {
    proxies: 'The counts of each pool member, by its id.',
  },
)
/** The attempts of each pool member, keyed by its id. */
export type MetricsByMember = CamelCased<typeof byMemberSchema>
/** Converts the metrics of pool members between the wire format and TypeScript. */
export const byMemberCodec = createCodec(byMemberSchema)

const labelSchema = z.object({
  sessions: nonNegativeIntegerField(),
  success_rate: fraction,
  average_attempts: z.number(),
})

/** The schema of the metrics of a time window, in the wire format. */
export const windowSchema = describeFields(
  z.object({
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
  }),
  {
    time_window_start: 'The start of the window.',
    time_window_end: 'The end of the window.',
    total_sessions: 'The number of calls.',
    successful_sessions: 'The number of calls that succeeded.',
    failed_sessions: 'The number of calls that failed.',
    total_attempts: 'The number of attempts.',
    average_attempts_per_session: 'The average number of attempts of a call.',
    max_attempts_in_session: 'The highest number of attempts of a call.',
    total_duration: 'The sum of the durations of all calls in seconds.',
    average_duration_per_session: 'The average duration of a call in seconds.',
    by_policy: 'The calls of each policy.',
    by_subsystem: 'The calls of each subsystem.',
    failure_by_reason:
      'The number of failed attempts by kind, and of calls without an attempt by stop reason.',
    latency: 'Percentiles of the duration of an attempt in seconds.',
  },
)
/** All counters between two times. */
export type MetricsWindow = CamelCased<typeof windowSchema>
/** Converts the metrics of a time window between the wire format and TypeScript. */
export const windowCodec = createCodec(windowSchema)

const operationCounts = {
  calls: nonNegativeIntegerField().describe('The number of calls.'),
  successes: nonNegativeIntegerField().describe('The number of calls that succeeded.'),
  failures: nonNegativeIntegerField().describe('The number of calls that failed, including rejected ones.'),
  retries: nonNegativeIntegerField().describe('The number of retries.'),
  rejections: nonNegativeIntegerField().describe(
    'The number of calls that an open breaker, a full bulkhead or an unavailable pool rejected.',
  ),
  latency: z
    .object({ p50: durationSeconds(), p95: durationSeconds(), p99: durationSeconds() })
    .describe(
      'Percentiles of the duration of a call with all attempts and delays, with an error of at most 5 %. Rejected calls are not included.',
    ),
}

const operationPoints = z
  .array(z.object({ timestamp: timestamp().describe('The start of the step.'), ...operationCounts }))
  .describe('One point for each step with calls, oldest first.')

/** The schema of the metrics of operations, in the wire format. */
export const byOperationSchema = describeFields(
  z.object({
    time_window_start: timestamp(),
    time_window_end: timestamp(),
    step: durationSeconds(),
    total: z.object({ ...operationCounts, data_points: operationPoints }),
    operations: z.array(
      z.object({
        operation: z.string().describe('The name of the operation; `other` for all operations beyond 500.'),
        ...operationCounts,
        breakers: z
          .array(z.string())
          .describe(
            'The breakers that calls of the operation must pass; `pool:POOL` for those of the members of a pool.',
          ),
        data_points: operationPoints,
      }),
    ),
  }),
  {
    time_window_start: 'The start of the window.',
    time_window_end: 'The end of the window.',
    step: 'The time between two points.',
    total: 'The calls of all operations.',
    operations: 'The calls of each operation, most calls first.',
  },
)
/** The calls of each operation between two times. */
export type MetricsByOperation = CamelCased<typeof byOperationSchema>
/** Converts the metrics of operations between the wire format and TypeScript. */
export const byOperationCodec = createCodec(byOperationSchema)
