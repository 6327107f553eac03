/** A value with its labels. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Durations by bucket, with their labels. */
export interface HistogramSample {
  readonly labels: Readonly<Record<string, string>>
  /** The upper bounds of the buckets, in seconds. */
  readonly bounds: readonly number[]
  /** The count of each bucket, and of values above the last bound; not cumulative. They do not change after the reading. */
  readonly counts: ArrayLike<number>
  readonly sum: number
}

/** The definition of each metric. The number of label values is limited: names beyond the limit share `other`. */
export const METRICS = {
  holdfast_calls_total: {
    type: 'counter',
    help: 'Calls that ended, by result (success, failure) and whether there was a retry.',
    labels: ['operation', 'result', 'retried'],
  },
  holdfast_retries_total: { type: 'counter', help: 'Retries.', labels: ['operation'] },
  holdfast_rejections_total: {
    type: 'counter',
    help: 'Calls that were rejected before their first attempt, by reason.',
    labels: ['operation', 'reason'],
  },
  holdfast_call_duration_seconds: {
    type: 'histogram',
    help: 'Duration of calls, delays included; calls that succeed at the first attempt are sampled.',
    labels: ['operation'],
  },
  holdfast_attempt_duration_seconds: {
    type: 'histogram',
    help: 'Duration of single attempts.',
    labels: ['operation'],
  },
  holdfast_circuit_breaker_state: {
    type: 'gauge',
    help: 'State of the breaker of a policy or a service: 0 closed, 1 half open, 2 open.',
    labels: ['id'],
  },
  holdfast_circuit_breaker_transitions_total: {
    type: 'counter',
    help: 'State changes of breakers by the new state.',
    labels: ['id', 'to'],
  },
  holdfast_pool_members: {
    type: 'gauge',
    help: 'Members of a pool by status: available, open, half_open, resting, drained, disabled.',
    labels: ['pool', 'status'],
  },
  holdfast_pool_open_ratio: {
    type: 'gauge',
    help: 'The fraction of the members of a pool whose breakers are open or half open.',
    labels: ['pool'],
  },
  holdfast_dead_letters: {
    type: 'gauge',
    help: 'Dead letters by operation and status.',
    labels: ['operation', 'status'],
  },
  holdfast_dead_letters_oldest_age_seconds: {
    type: 'gauge',
    help: 'Age of the oldest dead letter that is not completed; 0 without one.',
    labels: [],
  },
  holdfast_retry_budget_left: {
    type: 'gauge',
    help: 'Retries that the budget of a policy allows at the moment.',
    labels: ['policy'],
  },
  holdfast_retry_budget_spent_total: {
    type: 'counter',
    help: 'Calls that were not retried because the retry budget of their policy was exhausted.',
    labels: ['policy'],
  },
  holdfast_config_reloads_total: {
    type: 'counter',
    help: 'Changes of the configuration by result: taken (applied) or rejected.',
    labels: ['result'],
  },
  holdfast_events_dropped_total: {
    type: 'counter',
    help: 'Records that were dropped because the store was too slow.',
    labels: [],
  },
  holdfast_shared_state_up: {
    type: 'gauge',
    help: 'Whether the shared state can be reached, 1 or 0; absent without shared state.',
    labels: [],
  },
  holdfast_shared_state_losses_total: {
    type: 'counter',
    help: 'The number of times that the connection to the shared state was lost.',
    labels: [],
  },
  holdfast_shared_state_commands_total: {
    type: 'counter',
    help: 'Commands that were sent to the shared state.',
    labels: [],
  },
  holdfast_fleet_nodes: {
    type: 'gauge',
    help: 'Live nodes of the fleet, including this one.',
    labels: [],
  },
  holdfast_fleet_events_dropped_total: {
    type: 'counter',
    help: 'Events that were not sent to the other nodes because the connection was too slow.',
    labels: [],
  },
  holdfast_event_loop_delay_seconds: {
    type: 'gauge',
    help: 'Delay of the event loop since the last reading; percentile 100 is the maximum.',
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
