import { reportOnce } from 'holdfast/internal'
import type { JobGuardSettings } from './options.js'
import type { QueuedJob } from './types.js'

/** Stores each job that ended without success once. */
export class FailedJobs {
  private readonly settings: JobGuardSettings
  private readonly stored = new WeakSet<QueuedJob>()

  constructor(settings: JobGuardSettings) {
    this.settings = settings
  }

  /**
   * Stores a job that ended with its `attempt`. The key contains the time at which the job was added, because BullMQ can use an
   * id again, and the attempt, because a person can retry a failed job. It is the same if a crash follows and BullMQ runs the
   * attempt again.
   */
  async store(job: QueuedJob, error: unknown, attempt: number): Promise<void> {
    const { deadLetters, operation } = this.settings
    if (deadLetters === undefined || this.stored.has(job)) return
    const { queueName, queueQualifiedName, name, id = '', timestamp, data } = job
    await deadLetters.enqueue({
      operation: typeof operation === 'function' ? operation(job) : (operation ?? `${queueName}.${name}`),
      itemId: id,
      payload: data ?? {},
      error,
      retryCount: Math.max(0, attempt - 1),
      idempotencyKey: `${queueQualifiedName}:${id}:${timestamp}:${attempt}`,
    })
    this.stored.add(job)
  }

  /** Stores a job that BullMQ failed without its processor, for example because it stalled too often. */
  readonly onFailed = (job: QueuedJob | undefined, error: Error): void => {
    if (job?.finishedOn === undefined) return
    this.store(job, error, job.attemptsMade).catch((thrown: unknown) =>
      reportOnce('deadLetters.enqueue', this, thrown),
    )
  }

  /** Reports that a job could not be stored. BullMQ keeps it among its failed jobs. */
  reportNotStored(thrown: unknown): void {
    reportOnce('deadLetters.enqueue', this, thrown)
  }
}
