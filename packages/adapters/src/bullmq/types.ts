/** The properties of a job of BullMQ that the adapter uses. */
export interface QueuedJob {
  readonly id?: string | undefined
  readonly name: string
  // oxlint-disable-next-line no-explicit-any -- the data of a job can have any type
  readonly data: any
  readonly queueName: string
  readonly queueQualifiedName: string
  /** When the job was added, in epoch milliseconds. */
  readonly timestamp: number
  /** The number of attempts that have failed or completed. */
  readonly attemptsMade: number
  /** The delay before the current attempt, in milliseconds. */
  readonly delay: number
  /** Set when the job has ended. */
  readonly finishedOn?: number | undefined
  readonly opts: { attempts?: number | undefined; backoff?: unknown }
  moveToDelayed(timestamp: number, token?: string): Promise<void>
}

/** The function of a worker that processes a job. */
export type JobProcessor<J extends QueuedJob, R> = (
  job: J,
  token?: string,
  signal?: AbortSignal,
) => Promise<R>

/** The options that a worker needs. */
export interface GuardedWorkerOptions {
  readonly settings: {
    /** Returns the delay before the next attempt of a job, in milliseconds. */
    readonly backoffStrategy: (attemptsMade: number, type?: string, error?: Error) => number
  }
  /** A limit that is never reached: without one BullMQ ignores `rateLimit`. */
  readonly limiter: { readonly max: number; readonly duration: number }
}

/** The methods of a worker of BullMQ that the adapter uses. */
export interface JobWorker {
  readonly qualifiedName: string
  readonly opts: { readonly limiter?: unknown }
  /** Set when the worker is closing. */
  readonly closing?: Promise<void> | undefined
  concurrency: number
  isPaused(): boolean
  pause(doNotWaitActive?: boolean): Promise<void>
  resume(): void
  rateLimit(expireTimeMs: number): Promise<void>
  on(event: 'failed', listener: (job: QueuedJob | undefined, error: Error) => void): unknown
  off(event: 'failed', listener: (job: QueuedJob | undefined, error: Error) => void): unknown
  once(event: 'closed', listener: () => void): unknown
}
