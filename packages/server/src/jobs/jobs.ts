import type { SkippedEntries } from '@holdfast/runtime'
import { type Clock, isHoldfastError } from 'holdfast'

/** How many jobs are kept. */
const MAX_JOBS = 100

/** The counts of the entries of a batch. */
interface ReplayCounts {
  readonly succeeded: number
  readonly failed: number
  readonly skipped: number
}

type JobProgress = { readonly succeeded: number; readonly failed: number }

/** What a batch reports while it runs. */
interface JobListeners {
  readonly onProgress: (progress: JobProgress) => void
  readonly onSkipped: (skipped: SkippedEntries) => void
}

/** The states of a batch replay. */
export const JOB_STATUSES = ['running', 'succeeded', 'failed', 'cancelled'] as const

/** A batch replay. */
export interface BatchJob {
  readonly id: string
  status: (typeof JOB_STATUSES)[number]
  counts: ReplayCounts
  /** The number of entries that matched when the job started. */
  readonly total: number
  /** Why entries were skipped. */
  readonly skips: SkippedEntries[]
  readonly startedAt: Date
  endedAt?: Date
  /** The reason of a failure. */
  message?: string
}

type JobWork = (signal: AbortSignal, listeners: JobListeners) => Promise<ReplayCounts>

const NO_COUNTS: ReplayCounts = Object.freeze({ succeeded: 0, failed: 0, skipped: 0 })

interface JobRegistryOptions {
  /** Removes secrets from the message of a failed job. */
  redact(text: string): string
  logUnexpected(error: unknown, jobId: string): void
}

/** The batch replays of this process. */
export class JobRegistry {
  private readonly jobs = new Map<string, { job: BatchJob; stop: AbortController; done: Promise<void> }>()
  private readonly clock: Clock
  private readonly options: JobRegistryOptions
  private count = 0

  constructor(clock: Clock, options: JobRegistryOptions) {
    this.clock = clock
    this.options = options
  }

  start(total: number, work: JobWork): BatchJob {
    const startedAt = new Date(this.clock.wall())
    const id = `job_${startedAt.getTime()}_${++this.count}`
    const job: BatchJob = { id, status: 'running', counts: NO_COUNTS, total, skips: [], startedAt }
    const stop = new AbortController()
    this.jobs.set(id, { job, stop, done: this.runJob(job, stop.signal, work) })
    if (this.jobs.size > MAX_JOBS) this.removeOldestEnded()
    return job
  }

  get(id: string): BatchJob | undefined {
    return this.jobs.get(id)?.job
  }

  /** All jobs, newest first. */
  list(): BatchJob[] {
    return [...this.jobs.values()].map(({ job }) => job).toReversed()
  }

  cancel(id: string): void {
    this.jobs.get(id)?.stop.abort()
  }

  /** Cancels all jobs and waits for the entries in progress. */
  async close(): Promise<void> {
    for (const { stop } of this.jobs.values()) stop.abort()
    await Promise.all([...this.jobs.values()].map(({ done }) => done))
  }

  private async runJob(job: BatchJob, signal: AbortSignal, work: JobWork): Promise<void> {
    try {
      job.counts = await work(signal, {
        onProgress: ({ succeeded, failed }) => {
          job.counts = { succeeded, failed, skipped: 0 }
        },
        onSkipped: (skipped) => void job.skips.push(skipped),
      })
      job.status = signal.aborted ? 'cancelled' : 'succeeded'
    } catch (error) {
      job.status = signal.aborted ? 'cancelled' : 'failed'
      if (isHoldfastError(error)) {
        if (!signal.aborted) job.message = this.options.redact(error.message)
      } else {
        if (!signal.aborted) job.message = 'unexpected error; see the log of the server'
        this.options.logUnexpected(error, job.id)
      }
    }
    job.endedAt = new Date(this.clock.wall())
  }

  /** Removes the oldest job that has ended. */
  private removeOldestEnded(): void {
    for (const [id, { job }] of this.jobs)
      if (job.status !== 'running') {
        this.jobs.delete(id)
        return
      }
  }
}
