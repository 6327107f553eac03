/** A number with its labels. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Durations by bucket, with their labels. */
export interface HistogramSample {
  readonly labels: Readonly<Record<string, string>>
  /** The upper bounds of the buckets, in seconds. */
  readonly bounds: readonly number[]
  /** How many fell into each, and above all of them; not cumulative. */
  readonly counts: ArrayLike<number>
  readonly sum: number
}

/** What each metric is. Their labels take few values, whatever calls are made: names beyond a limit share `other`. */
export const METRICS = {
  holdfast_calls_total: {
    type: 'counter',
    help: 'Calls that ended, by result (success, failure) and whether there was a retry.',
    labels: ['operation', 'result', 'retried'],
  },
  holdfast_retries_total: { type: 'counter', help: 'Retries that were made.', labels: ['operation'] },
  holdfast_call_duration_seconds: {
    type: 'histogram',
    help: 'How long calls took, waits included; first-try successes are estimated from samples.',
    labels: ['operation'],
  },
  holdfast_attempt_duration_seconds: {
    type: 'histogram',
    help: 'How long single attempts took.',
    labels: ['operation'],
  },
  holdfast_circuit_breaker_state: {
    type: 'gauge',
    help: 'Where the breaker of a policy or a service stands: 0 closed, 1 half open, 2 open.',
    labels: ['id'],
  },
  holdfast_circuit_breaker_transitions_total: {
    type: 'counter',
    help: 'Changes of breakers, by the state they changed to.',
    labels: ['id', 'to'],
  },
  holdfast_pool_members: {
    type: 'gauge',
    help: 'Members of a pool by status: available, open, half_open, resting, drained, disabled.',
    labels: ['pool', 'status'],
  },
  holdfast_pool_open_ratio: {
    type: 'gauge',
    help: 'The share of a pool whose breakers are open or half open.',
    labels: ['pool'],
  },
  holdfast_dead_letters: {
    type: 'gauge',
    help: 'Dead letters by operation and status.',
    labels: ['operation', 'status'],
  },
  holdfast_dead_letters_oldest_age_seconds: {
    type: 'gauge',
    help: 'How long the oldest dead letter that is not completed has waited; 0 where none waits.',
    labels: [],
  },
  holdfast_retry_budget_left: {
    type: 'gauge',
    help: 'Retries that the budget of a policy has left now.',
    labels: ['policy'],
  },
  holdfast_retry_budget_spent_total: {
    type: 'counter',
    help: 'Calls that ended without another attempt because the retry budget of their policy was spent.',
    labels: ['policy'],
  },
  holdfast_config_reloads_total: {
    type: 'counter',
    help: 'Times the configuration changed (taken) or was refused (rejected).',
    labels: ['result'],
  },
  holdfast_events_dropped_total: {
    type: 'counter',
    help: 'Records that were dropped because the store could not keep up.',
    labels: [],
  },
  holdfast_shared_state_up: {
    type: 'gauge',
    help: 'Whether what nodes share can be reached, 1 or 0; absent where the process shares nothing.',
    labels: [],
  },
  holdfast_shared_state_losses_total: {
    type: 'counter',
    help: 'Times that what nodes share could not be reached any more.',
    labels: [],
  },
  holdfast_shared_state_commands_total: {
    type: 'counter',
    help: 'Commands that were sent to where nodes share what they know.',
    labels: [],
  },
  holdfast_fleet_nodes: {
    type: 'gauge',
    help: 'Nodes of the fleet that live, this one among them.',
    labels: [],
  },
  holdfast_fleet_events_dropped_total: {
    type: 'counter',
    help: 'Events that the other nodes were not told because that could not keep up.',
    labels: [],
  },
  holdfast_event_loop_delay_seconds: {
    type: 'gauge',
    help: 'How late the event loop was since the last reading; percentile 100 is the worst.',
    labels: ['percentile'],
  },
} as const satisfies Record<
  string,
  { type: 'counter' | 'gauge' | 'histogram'; help: string; labels: readonly string[] }
>

/** The name of a metric. */
type MetricName = keyof typeof METRICS

type MetricOfType<T extends string> = {
  [K in MetricName]: (typeof METRICS)[K]['type'] extends T ? K : never
}[MetricName]

/** Metrics whose samples are numbers, and those whose samples are histograms. */
export type NumberMetric = MetricOfType<'counter' | 'gauge'>
type DurationMetric = MetricOfType<'histogram'>

/** One reading of all metrics. */
export interface MetricsReading {
  readonly numbers: Readonly<Record<NumberMetric, readonly Sample[]>>
  readonly durations: Readonly<Record<DurationMetric, readonly HistogramSample[]>>
}
