// Every field of a retry policy, as plain data. The record, the config file, the wire format, the defaults, the descriptions
// and the form of the dashboard are derived from this table, so a new field is one entry here. It imports no schema library,
// because the dashboard loads it too.
import type { FetchRetryOptions, RetryBudgetOptions } from 'holdfast'
import { BUDGET_DEFAULTS, BULKHEAD_DEFAULTS, HEDGE_DEFAULTS, RETRY_DEFAULTS } from 'holdfast/internal'
import type { SnakeCase } from './codec/case-codec.js'

/** The kind of value of a field. A duration is in milliseconds here, and in seconds on the wire. */
export type PolicyFieldKind =
  | 'text'
  | 'name'
  | 'flag'
  | 'attempts'
  | 'duration'
  | 'positiveDuration'
  | 'timeout'
  | 'fraction'
  | 'factor'
  | 'number'
  | 'count'
  | 'countFromZero'
  | 'backoff'
  | 'jitter'
  | 'matchers'
  | 'statuses'
  | 'nested'

/** The groups of fields in a form, in their order. */
export const POLICY_GROUPS = [
  'Retries',
  'Jitter',
  'Timeouts',
  'Retry conditions',
  'Breaker',
  'Bulkhead and hedge',
  'Retry budget',
  'General',
] as const

/** A field of a policy. */
export interface PolicyField {
  /** The kind of value. */
  readonly kind: PolicyFieldKind
  /** The name of the field in a form. */
  readonly label: string
  /** The group of the field in a form. */
  readonly group: (typeof POLICY_GROUPS)[number]
  /** The meaning of the field, in one sentence. */
  readonly description: string
  /** The value of a policy that does not set the field. */
  readonly default?: unknown
  /** The effect of a policy without the field, in words, if that is not a value. */
  readonly absent?: string
  /** Whether a policy can lack the field. */
  readonly optional?: true
  /** Whether a policy can lack the field, and null means that it does. */
  readonly nullable?: true
}

/** A field whose value is an object. A policy can lack it. */
export interface PolicyPart {
  /** The meaning of the object, in one sentence. */
  readonly description: string
  /** The fields of the object. */
  readonly fields: { readonly [name: string]: PolicyField }
  /** The effect of a policy without the object, in words. */
  readonly absent: string
  /** Always true: a policy can lack the object. */
  readonly nullable: true
}

/** A field of a policy or an object of fields, for code that treats both alike. */
export interface AnyPolicyField extends Partial<PolicyField>, Partial<Pick<PolicyPart, 'fields'>> {
  /** The meaning, in one sentence. */
  readonly description: string
}

/** The retry options that a policy does not have, or has under another name: functions, and settings of one request. */
type OtherOption =
  | 'retryOn'
  | 'abortOn'
  | 'retryIf'
  | 'beforeRetry'
  | 'idempotencyKey'
  | 'notProcessedStatuses'

/** The fields that a policy must have because the core has the option. */
type CoreFields = {
  readonly [Name in Exclude<keyof FetchRetryOptions, OtherOption> as SnakeCase<Name>]-?: PolicyField
}

type BudgetFields = {
  readonly [Name in Exclude<keyof RetryBudgetOptions, 'clock'> as SnakeCase<Name>]-?: PolicyField
}

/** Every field of a policy except its id. */
export const POLICY_FIELDS = {
  name: { kind: 'text', label: 'Name', group: 'General', description: 'A display name.', absent: 'the id' },
  description: {
    kind: 'text',
    label: 'Description',
    group: 'General',
    description: 'When and why to use it.',
    absent: 'none',
    nullable: true,
  },
  enabled: {
    kind: 'flag',
    label: 'Enabled',
    group: 'General',
    description: 'False disables the policy: calls run once, without retries.',
    default: true,
  },
  max_attempts: {
    kind: 'attempts',
    label: 'Max attempts (including the first)',
    group: 'Retries',
    description: 'The maximum number of attempts, including the first.',
    default: RETRY_DEFAULTS.maxAttempts,
  },
  backoff_type: {
    kind: 'backoff',
    label: 'Backoff',
    group: 'Retries',
    description: 'How the delay grows from one retry to the next.',
    default: RETRY_DEFAULTS.backoffType,
  },
  base_delay: {
    kind: 'duration',
    label: 'Base delay',
    group: 'Retries',
    description: 'The delay before the first retry.',
    default: RETRY_DEFAULTS.baseDelay,
  },
  multiplier: {
    kind: 'factor',
    label: 'Multiplier',
    group: 'Retries',
    description: 'The factor of exponential growth.',
    default: RETRY_DEFAULTS.multiplier,
  },
  max_delay: {
    kind: 'duration',
    label: 'Max delay',
    group: 'Retries',
    description: 'The maximum delay, including jitter.',
    default: RETRY_DEFAULTS.maxDelay,
  },
  jitter_type: {
    kind: 'jitter',
    label: 'Jitter',
    group: 'Jitter',
    description: 'How delays are randomized.',
    default: RETRY_DEFAULTS.jitterType,
  },
  jitter_amount: {
    kind: 'fraction',
    label: 'Jitter factor (0–1)',
    group: 'Jitter',
    description: 'The fraction of the delay that is random.',
    default: RETRY_DEFAULTS.jitterAmount,
  },
  jitter_min: {
    kind: 'duration',
    label: 'Min additive jitter',
    group: 'Jitter',
    description: 'The minimum that additive jitter adds.',
    default: RETRY_DEFAULTS.jitterMin,
  },
  jitter_max: {
    kind: 'duration',
    label: 'Max additive jitter',
    group: 'Jitter',
    description: 'The maximum that additive jitter adds.',
    default: RETRY_DEFAULTS.jitterMax,
  },
  retryable_exceptions: {
    kind: 'matchers',
    label: 'Retry only on',
    group: 'Retry conditions',
    description: 'Errors that are retried. An empty list: none.',
    absent: 'transient errors',
    nullable: true,
  },
  abort_exceptions: {
    kind: 'matchers',
    label: 'Never retry on',
    group: 'Retry conditions',
    description: 'Errors that are never retried. Takes precedence over all other settings.',
    absent: 'none',
    nullable: true,
  },
  retry_status_codes: {
    kind: 'statuses',
    label: 'Retry only on status codes',
    group: 'Retry conditions',
    description: 'HTTP statuses that are retried. Other statuses are not.',
    absent: 'the transient statuses 408, 425, 429 and 500 to 599 except 501 and 505',
    nullable: true,
  },
  respect_retry_after: {
    kind: 'flag',
    label: 'Respect Retry-After',
    group: 'Retries',
    description: 'Whether the Retry-After of a response replaces the delay.',
    default: RETRY_DEFAULTS.respectRetryAfter,
  },
  max_retry_after: {
    kind: 'positiveDuration',
    label: 'Max Retry-After',
    group: 'Retries',
    description: 'A longer Retry-After ends the call without a retry.',
    default: RETRY_DEFAULTS.maxRetryAfter,
  },
  nested: {
    kind: 'nested',
    label: 'Nested retries',
    group: 'Retry conditions',
    description:
      'stop: an error that a guard inside the call has already retried is not retried again; retry: it is.',
    absent: 'retry',
    optional: true,
  },
  attempt_timeout: {
    kind: 'timeout',
    label: 'Per attempt',
    group: 'Timeouts',
    description: 'The deadline of one attempt.',
    absent: 'none',
    nullable: true,
  },
  total_timeout: {
    kind: 'timeout',
    label: 'Total',
    group: 'Timeouts',
    description: 'The deadline of the whole call, including delays.',
    absent: 'none',
    nullable: true,
  },
  retry_non_idempotent: {
    kind: 'flag',
    label: 'Retry POST and PATCH',
    group: 'Retry conditions',
    description: 'Whether POST and PATCH are retried.',
    default: false,
  },
  enable_circuit_breaker: {
    kind: 'flag',
    label: 'Dedicated breaker',
    group: 'Breaker',
    description: 'Creates a circuit breaker that only this policy uses.',
    default: false,
  },
  circuit_breaker_threshold: {
    kind: 'count',
    label: 'Failure threshold',
    group: 'Breaker',
    description: 'The number of consecutive failures that open the dedicated breaker.',
    default: 5,
  },
  circuit_breaker_timeout: {
    kind: 'positiveDuration',
    label: 'Open duration',
    group: 'Breaker',
    description: 'How long the dedicated breaker stays open before it allows a probe.',
    default: 60_000,
  },
  circuit_breaker: {
    kind: 'name',
    label: 'Shared breaker',
    group: 'Breaker',
    description:
      'The name of a breaker under circuit_breakers, for several policies. It replaces the dedicated breaker.',
    absent: 'none',
    nullable: true,
  },
  bulkhead: {
    description: 'Limits concurrent calls.',
    absent: 'no limit',
    fields: {
      limit: {
        kind: 'count',
        label: 'Max concurrent calls',
        group: 'Bulkhead and hedge',
        description: 'The maximum number of concurrent calls.',
      },
      queue: {
        kind: 'countFromZero',
        label: 'Queue size',
        group: 'Bulkhead and hedge',
        description: 'The maximum number of calls that wait for a free slot. More are rejected.',
        default: BULKHEAD_DEFAULTS.queue,
      },
      max_wait: {
        kind: 'duration',
        label: 'Max wait in the queue',
        group: 'Bulkhead and hedge',
        description: 'How long a queued call waits for a free slot before it is rejected; 0 never waits.',
        absent: 'no limit',
        optional: true,
      },
    },
    nullable: true,
  },
  hedge: {
    description: 'Starts another run of an attempt that takes long, and uses the first result.',
    absent: 'none',
    fields: {
      delay: {
        kind: 'duration',
        label: 'Hedge after',
        group: 'Bulkhead and hedge',
        description: 'The time after which another run of the attempt starts.',
      },
      max: {
        kind: 'count',
        label: 'Max hedges',
        group: 'Bulkhead and hedge',
        description: 'The maximum number of additional runs.',
        default: HEDGE_DEFAULTS.max,
      },
    },
    nullable: true,
  },
  budget: {
    description: 'Limits the total number of retries.',
    absent: 'no limit',
    fields: {
      ratio: {
        kind: 'number',
        label: 'Retry ratio',
        group: 'Retry budget',
        description: 'Retries allowed per call in the window: 0.2 allows one retry per five calls.',
        default: BUDGET_DEFAULTS.ratio,
      },
      reserve_per_second: {
        kind: 'number',
        label: 'Minimum retries per second',
        group: 'Retry budget',
        description: 'Retries allowed per second independent of the number of calls.',
        default: BUDGET_DEFAULTS.reservePerSecond,
      },
      window: {
        kind: 'positiveDuration',
        label: 'Budget window',
        group: 'Retry budget',
        description: 'The time span in which calls and retries are counted.',
        default: BUDGET_DEFAULTS.window,
      },
      shared: {
        kind: 'flag',
        label: 'Share across nodes',
        group: 'Retry budget',
        description: 'Counts the calls of all nodes of the fleet. Requires `shared`.',
        absent: 'false',
        optional: true,
      },
    } satisfies BudgetFields & { shared: PolicyField },
    nullable: true,
  },
  dead_letter: {
    kind: 'flag',
    label: 'Store failed payloads as dead letters',
    group: 'General',
    description: 'Whether a call with a payload that failed after all retries is stored as a dead letter.',
    default: true,
  },
  shadow: {
    kind: 'flag',
    label: 'Shadow mode (log only)',
    group: 'General',
    description: 'Records what the policy would do, without applying it.',
    default: false,
  },
} as const satisfies CoreFields & { readonly [name: string]: PolicyField | PolicyPart }
