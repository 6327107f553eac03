import type { BreakerEvent, CircuitBreaker, Clock } from 'holdfast'
import type { JobWorker } from './types.js'

/**
 * Pauses a worker while a breaker is open, so that its jobs wait in the queue and use no attempts. When the open time is over,
 * the worker resumes with one job at a time, whose result closes the breaker or opens it again.
 */
export class WorkerPause {
  private readonly worker: JobWorker
  private readonly breaker: CircuitBreaker
  /** The clock of the breaker, because the worker waits for the end of the open time. */
  private readonly clock: Clock
  private readonly removeListener: () => void
  private timer: unknown = undefined
  private isPausing = false
  /** The concurrency of the worker while the breaker is closed; undefined unless it was changed. */
  private concurrency: number | undefined = undefined

  constructor(worker: JobWorker, breaker: CircuitBreaker) {
    this.worker = worker
    this.breaker = breaker
    this.clock = breaker.settings.clock
    this.removeListener = breaker.on(this.onChange)
    if (breaker.state === 'open') this.pause()
  }

  /** Stops following the breaker and resumes the worker if the breaker has paused it. */
  stop(): void {
    this.removeListener()
    this.resume()
  }

  private readonly onChange = ({ toState }: BreakerEvent): void => {
    if (toState === 'open') this.pause()
    else if (toState === 'closed') this.resume()
  }

  private pause(): void {
    const { worker, breaker } = this
    // A worker that the application has paused is not resumed.
    if (!this.isPausing && worker.isPaused()) return
    this.isPausing = true
    this.concurrency ??= worker.concurrency
    // Active jobs are not awaited: the breaker can open within one of them.
    void worker.pause(true)
    this.clock.clearTimer(this.timer)
    const delay = Math.max(0, (breaker.nextTestTime ?? 0) - this.clock.wall())
    this.timer = this.clock.setTimer(this.probe, delay)
  }

  /** Resumes with one job at a time. A breaker that was tripped again meanwhile stays open for longer. */
  private readonly probe = (): void => {
    const { worker, breaker } = this
    if (breaker.state === 'open' && (breaker.nextTestTime ?? 0) > this.clock.wall() + 1) {
      this.pause()
      return
    }
    worker.concurrency = 1
    this.isPausing = false
    if (worker.isPaused() && worker.closing === undefined) worker.resume()
  }

  private resume(): void {
    const { worker } = this
    this.clock.clearTimer(this.timer)
    if (this.concurrency !== undefined) worker.concurrency = this.concurrency
    this.concurrency = undefined
    if (this.isPausing && worker.isPaused() && worker.closing === undefined) worker.resume()
    this.isPausing = false
  }
}
