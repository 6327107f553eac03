import { classify, guard as createGuard, stopRetrying } from 'holdfast'
import { computeDelay, systemClock } from 'holdfast/internal'
import {
  createDelayedError,
  createRateLimitError,
  isMoveError,
  isUnrecoverable,
  toError,
  toUnrecoverable,
} from './control-errors.js'
import { FailedJobs } from './failed-jobs.js'
import { decideFailure } from './failure.js'
import { type JobGuardOptions, parseJobGuardOptions } from './options.js'
import type { GuardedWorkerOptions, JobProcessor, JobWorker, QueuedJob } from './types.js'
import { WorkerPause } from './worker-pause.js'

/** The name of the backoff of jobs that have none. BullMQ passes unknown names to `backoffStrategy`. */
const BACKOFF_TYPE = 'holdfast'

/** A limit that is never reached. BullMQ checks whether a queue is rate limited only if its worker has a limit. */
const NO_LIMIT = { max: Number.MAX_SAFE_INTEGER, duration: 1000 }

/** The result of a processor: a value, or the error by which it has moved the job. A fallback returns anything else. */
class Processed<R> {
  readonly value: R | undefined
  readonly moveError: Error | undefined

  constructor(value: R | undefined, moveError?: Error) {
    this.value = value
    this.moveError = moveError
  }
}

/** Runs the jobs of a worker through a guard. */
export interface JobGuard {
  /** Options for the worker. */
  readonly workerOptions: GuardedWorkerOptions
  /** Returns a processor that runs `fn` through the guard. `fn` gets a signal that is also aborted at a deadline of the guard. */
  processor<J extends QueuedJob, R>(fn: JobProcessor<J, R>): JobProcessor<J, R>
  /**
   * Connects a worker: it pauses while the breaker is open, its queue can be rate limited, and jobs that fail without their
   * processor are stored. Returns the function that disconnects it; closing the worker does that too.
   */
  attach(worker: JobWorker): () => void
}

/**
 * Connects the worker of a BullMQ queue to a guard. BullMQ keeps the jobs and retries them; the guard decides
 * which failures are retried.
 *
 * - A permanent failure ends the job at once, with an `UnrecoverableError`.
 * - A transient failure is retried by BullMQ, after the delay of `retry` or of the server's Retry-After.
 * - A failure by rate limit (429) limits the whole queue for that time and uses no attempt.
 * - A job that the guard rejects, for example because its breaker is open, is delayed and uses no attempt. While the breaker is
 *   open the worker is paused.
 * - A job that ended without success is stored in `deadLetters` before BullMQ marks it as failed.
 *
 * @throws INVALID_OPTIONS that lists all problems of the options
 *
 * @example
 * ```ts no-run
 * import { guardJobs } from '@holdfast/adapters/bullmq'
 * import { type Job, Worker } from 'bullmq'
 * import { guard } from 'holdfast'
 *
 * const smtp = guard({ name: 'smtp', retry: false, breaker: { failureThreshold: 5 }, timeout: { attempt: '10s' } })
 * const jobs = guardJobs({ guard: smtp, retry: { maxAttempts: 8, baseDelay: '5s', maxDelay: '10m' } })
 *
 * const processor = jobs.processor(async (job: Job<{ url: string }>, _token, signal) => {
 *   await fetch(job.data.url, { method: 'POST', signal: signal ?? null })
 * })
 * const worker = new Worker('mail', processor, { connection: { host: 'localhost' }, ...jobs.workerOptions })
 * jobs.attach(worker)
 * ```
 *
 * @example
 * ```ts
 * import { guardJobs } from '@holdfast/adapters/bullmq'
 *
 * const jobs = guardJobs({ retry: { maxAttempts: 8, baseDelay: '5s', multiplier: 3, maxDelay: '1m' } })
 * const { backoffStrategy } = jobs.workerOptions.settings
 * const delays = [1, 2, 3, 4].map((attempt) => backoffStrategy(attempt))
 * delays // => [5000, 15_000, 45_000, 60_000]
 * ```
 */
export function guardJobs(options: JobGuardOptions = {}): JobGuard {
  const settings = parseJobGuardOptions(options)
  const { guard = createGuard({ name: 'job', retry: false }), retry, random } = settings
  const failedJobs = new FailedJobs(settings)
  const workers = new Map<string, JobWorker>()
  /** The delays of the errors that were thrown to BullMQ. */
  const delays = new WeakMap<object, number>()

  const backoffStrategy = (attempt: number, _type?: string, error?: Error): number =>
    (error && delays.get(error)) ?? Math.ceil(computeDelay(retry, attempt, retry.baseDelay, random, error))

  /** Delays a job without using one of its attempts. */
  async function postpone(job: QueuedJob, token: string | undefined, delay: number): Promise<Error> {
    await job.moveToDelayed(systemClock.wall() + delay, token)
    return createDelayedError()
  }

  async function rateLimit(job: QueuedJob, token: string | undefined, delay: number): Promise<Error> {
    const worker = workers.get(job.queueQualifiedName)
    if (worker?.opts.limiter === undefined) return postpone(job, token, delay)
    await worker.rateLimit(delay)
    return createRateLimitError()
  }

  /** Stores a job that has ended. Where the store is unavailable, the job is delayed and runs again. */
  async function end(job: QueuedJob, token: string | undefined, error: unknown): Promise<Error> {
    try {
      await failedJobs.store(job, error, job.attemptsMade + 1)
    } catch (thrown) {
      if (classify(thrown).category === 'transient') return postpone(job, token, retry.maxDelay)
      failedJobs.reportNotStored(thrown)
    }
    return toUnrecoverable(toError(error))
  }

  /** Returns the error that BullMQ gets in place of the error of the job. */
  async function handleFailure(
    job: QueuedJob,
    token: string | undefined,
    error: unknown,
    isAborted: boolean,
  ): Promise<Error> {
    // BullMQ aborts a cancelled job, and one that another worker may have taken over: it decides whether the job has ended.
    if (isAborted) return toError(error)
    const number = job.attemptsMade + 1
    const max = job.opts.attempts ?? 1
    const attempts = { number, max, previousDelay: job.delay || retry.baseDelay }
    const action = isUnrecoverable(error)
      ? ({ type: 'end' } as const)
      : decideFailure(error, attempts, retry, random)
    switch (action.type) {
      case 'postpone':
        return postpone(job, token, action.delay)
      case 'rate_limit':
        return rateLimit(job, token, action.delay)
      case 'retry': {
        const thrown = toError(error)
        delays.set(thrown, action.delay)
        return thrown
      }
      case 'end':
        return end(job, token, error)
    }
  }

  return {
    workerOptions: { settings: { backoffStrategy }, limiter: NO_LIMIT },

    processor<J extends QueuedJob, R>(fn: JobProcessor<J, R>): JobProcessor<J, R> {
      // BullMQ passes a signal only to processors with three parameters.
      return async (job, token, signal) => {
        job.opts.attempts ||= Math.min(retry.maxAttempts, Number.MAX_SAFE_INTEGER)
        job.opts.backoff ??= { type: BACKOFF_TYPE }
        const process = async (attemptSignal: AbortSignal): Promise<Processed<R>> => {
          try {
            return new Processed(await fn(job, token, attemptSignal))
          } catch (error) {
            if (isMoveError(error)) return new Processed<R>(undefined, error)
            throw isUnrecoverable(error) ? stopRetrying(error) : error
          }
        }
        const context = { queue: job.queueName, job: job.name, jobId: job.id, attempt: job.attemptsMade + 1 }
        let result: unknown
        try {
          result = await guard.run((attempt) => process(attempt.signal), { signal, context })
        } catch (error) {
          throw await handleFailure(job, token, error, signal?.aborted === true)
        }
        if (!(result instanceof Processed)) return result as R
        if (result.moveError !== undefined) throw result.moveError
        return result.value as R
      }
    },

    attach(worker) {
      const { qualifiedName } = worker
      const breaker = settings.breaker ?? guard.breaker
      const pause = breaker ? new WorkerPause(worker, breaker) : undefined
      workers.set(qualifiedName, worker)
      worker.on('failed', failedJobs.onFailed)
      const detach = () => {
        worker.off('failed', failedJobs.onFailed)
        if (workers.get(qualifiedName) === worker) workers.delete(qualifiedName)
        pause?.stop()
      }
      worker.once('closed', detach)
      return detach
    },
  }
}
