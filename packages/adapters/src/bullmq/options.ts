import type { Attempt, CircuitBreaker, Guard, Random, RetryOptions } from 'holdfast'
import {
  type CompiledRetryPolicy,
  createOptionsError,
  defaultsOf,
  type OptionProblem,
  type OptionSpecOf,
  ofType,
  parseOptions,
  parseRetryOptions,
  RETRY_DEFAULTS,
  systemRandom,
} from 'holdfast/internal'
import type { QueuedJob } from './types.js'

/** When BullMQ retries a failed job, and after which delay. */
export type JobRetryOptions = Omit<RetryOptions, 'beforeRetry' | 'nested'>

/** A job that ended without success, as it is stored. */
export interface FailedJob {
  /** The operation of the job. Its handler replays the entry. */
  operation: string
  /** The id of the job. */
  itemId: string
  /** The data of the job. */
  payload: unknown
  /** The error of the last attempt. */
  error: unknown
  /** The number of retries that BullMQ made. */
  retryCount: number
  /** The same for each attempt to store the job, so that it is stored once. */
  idempotencyKey: string
}

/** Stores jobs that ended without success: `hf.deadLetters` of a runtime. */
export interface DeadLetterQueue {
  /** Resolves when the job is stored. The same key with the same payload is stored once. */
  enqueue(job: FailedJob): Promise<unknown>
}

/** The options of {@link guardJobs}. */
export interface JobGuardOptions {
  /**
   * The guard through which each attempt of a job runs: `guard(…)`, or `hf.guard(operation)` of a runtime. Its retries happen
   * within one attempt of BullMQ. @defaultValue a guard without retries
   */
  guard?: Guard<Attempt, unknown> | undefined
  /**
   * The retries of BullMQ: delays for jobs without a `backoff` of their own, and the number of attempts for jobs without
   * `attempts`. With `retryOn` these matchers decide which errors are retried, else the guard does. @defaultValue 3 attempts,
   * exponential from 1 s, cap 30 s
   */
  retry?: JobRetryOptions | undefined
  /** Where jobs that ended without success are stored with their data. @defaultValue nowhere */
  deadLetters?: DeadLetterQueue | undefined
  /** The operation of a stored job. @defaultValue the queue and the name of the job: `mail.welcome` */
  operation?: string | ((job: QueuedJob) => string) | undefined
  /** The breaker that pauses the worker while it is open; false for none. @defaultValue that of the guard */
  breaker?: CircuitBreaker | false | undefined
  /** The source of random numbers for jitter. @defaultValue `Math.random` */
  random?: Random | undefined
}

/** {@link JobGuardOptions}, checked. */
export interface JobGuardSettings {
  readonly guard: Guard<Attempt, unknown> | undefined
  readonly retry: CompiledRetryPolicy
  readonly deadLetters: DeadLetterQueue | undefined
  readonly operation: JobGuardOptions['operation']
  readonly breaker: CircuitBreaker | false | undefined
  readonly random: Random
}

const hasMethod =
  (name: string) =>
  (value: unknown): boolean =>
    typeof (value as Record<string, unknown> | null)?.[name] === 'function'

const SPEC = {
  guard: [undefined, ['a guard', hasMethod('run')]],
  retry: [{}, ofType('object')],
  deadLetters: [undefined, ['an object with enqueue', hasMethod('enqueue')]],
  operation: [
    undefined,
    [
      'a name, or a function of the job',
      (value: unknown) => typeof value === 'function' || (typeof value === 'string' && value !== ''),
    ],
  ],
  breaker: [
    undefined,
    ['a CircuitBreaker, or false', (value: unknown) => value === false || hasMethod('admit')(value)],
  ],
  random: [systemRandom, ofType('function')],
} satisfies OptionSpecOf<JobGuardOptions>

/** Checks the options. @throws INVALID_OPTIONS that lists all problems */
export function parseJobGuardOptions(input: JobGuardOptions): JobGuardSettings {
  const problems: OptionProblem[] = []
  const options = parseOptions('', input, defaultsOf(SPEC) as unknown as JobGuardSettings, SPEC, problems)
  const retry = parseRetryOptions(options.retry, RETRY_DEFAULTS, problems)
  if (problems.length > 0) throw createOptionsError('invalid options of guardJobs', problems)
  return { ...options, retry }
}
