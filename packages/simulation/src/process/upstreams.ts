import type { Clock } from 'holdfast'
import type { MemberId, Operation, PlannedAttempt } from '../scenario/scenario.js'

/** The error of an upstream that does not respond. */
const createUpstreamError = (operation: string) =>
  Object.assign(new Error(`${operation} is down`), { code: 'ECONNRESET' })

/** The error of a member that rejects calls for a time. */
const createLimitError = (service: string, retryAfter: number) =>
  Object.assign(new Error(`${service} has too many requests`), { status: 429, retryAfter })

/** The service of an attempt: that of its operation, or a member of the pool. */
type Service = Operation | MemberId

/** How an attempt ended: `limited` is a failure because of a rate limit. */
export type AttemptEnd = 'succeeded' | 'failed' | 'limited'

/** The services that calls need. While one is down, every attempt fails. */
export class Upstreams {
  /** How many attempts have failed because their service was down. */
  readonly outageFailures = new Map<Service, number>()
  private readonly outages = new Map<Service, number>()

  isDown(service: Service): boolean {
    return (this.outages.get(service) ?? 0) > 0
  }

  beginOutage(service: Service): void {
    this.outages.set(service, (this.outages.get(service) ?? 0) + 1)
  }

  endOutage(service: Service): void {
    this.outages.set(service, (this.outages.get(service) ?? 0) - 1)
  }

  /** Makes an attempt in a process: its time passes on the clock of the process, and it never ends if the process dies. */
  attempt(
    clock: Clock,
    service: Service,
    { ms, fails, ignoresSignal = false, limitMs }: PlannedAttempt,
    signal: AbortSignal,
    onEnd?: (end: AttemptEnd) => void,
    value = 'done',
  ): Promise<string> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        clock.clearTimer(timer)
        onEnd?.('failed')
        reject(signal.reason as Error)
      }
      if (!ignoresSignal) signal.addEventListener('abort', onAbort)
      const timer = clock.setTimer(() => {
        signal.removeEventListener('abort', onAbort)
        const isDown = this.isDown(service)
        if (isDown) this.outageFailures.set(service, (this.outageFailures.get(service) ?? 0) + 1)
        const failed = fails || isDown
        const end = failed ? 'failed' : limitMs === undefined ? 'succeeded' : 'limited'
        onEnd?.(end)
        if (failed) reject(createUpstreamError(service))
        else if (limitMs !== undefined) reject(createLimitError(service, limitMs))
        else resolve(value)
      }, ms)
    })
  }
}
