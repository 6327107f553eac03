/** The properties of a job of BullMQ that the adapter uses. */
export interface QueuedJob {
  /** The id of the job. */
  readonly id?: string | undefined
  /** The name of the job. */
  readonly name: string
  /** The data of the job. */
  // oxlint-disable-next-line no-explicit-any -- the data of a job can have any type
  readonly data: any
  /** The name of the queue. */
  readonly queueName: string
  /** The name of the queue with its prefix. */
  readonly queueQualifiedName: string
  /** When the job was added, in epoch milliseconds. */
  readonly timestamp: number
  /** The number of attempts that have failed or completed. */
  readonly attemptsMade: number
  /** The delay before the current attempt, in milliseconds. */
  readonly delay: number
  /** Set when the job has ended. */
  readonly finishedOn?: number | undefined
  /** The options with which the job was added. */
  readonly opts: { attempts?: number | undefined; backoff?: unknown }
  /** Delays the job until a time, in epoch milliseconds. */
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
  /** The delays between the attempts of a job. */
  readonly settings: {
    /** Returns the delay before the next attempt of a job, in milliseconds. */
    readonly backoffStrategy: (attemptsMade: number, type?: string, error?: Error) => number
  }
  /** A limit that is never reached: without one BullMQ ignores `rateLimit`. */
  readonly limiter: { readonly max: number; readonly duration: number }
}

/** The methods of a worker of BullMQ that the adapter uses. */
export interface JobWorker {
  /** The name of the queue with its prefix. */
  readonly qualifiedName: string
  /** The options of the worker. */
  readonly opts: { readonly limiter?: unknown }
  /** Set when the worker is closing. */
  readonly closing?: Promise<void> | undefined
  /** How many jobs run at the same time. */
  concurrency: number
  /** Whether the worker is paused. */
  isPaused(): boolean
  /** Takes no more jobs. */
  pause(doNotWaitActive?: boolean): Promise<void>
  /** Takes jobs again. */
  resume(): void
  /** Starts no job of the queue for that time. */
  rateLimit(expireTimeMs: number): Promise<void>
  /** Adds a listener. */
  on(event: 'failed', listener: (job: QueuedJob | undefined, error: Error) => void): unknown
  /** Removes a listener. */
  off(event: 'failed', listener: (job: QueuedJob | undefined, error: Error) => void): unknown
  /** Adds a listener for one event. */
  once(event: 'closed', listener: () => void): unknown
}
