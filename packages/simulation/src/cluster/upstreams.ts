import type { Clock } from 'holdfast'
import type { Operation, PlannedAttempt } from '../scenario/scenario.js'

/** The error of an upstream that does not respond. */
const createUpstreamError = (operation: string) =>
  Object.assign(new Error(`${operation} is down`), { code: 'ECONNRESET' })

/** The services that calls need. While one is down, every attempt fails. */
export class Upstreams {
  /** How many attempts have failed because their service was down, by operation. */
  readonly outageFailures = new Map<Operation, number>()
  private readonly outages = new Map<Operation, number>()

  isDown(operation: Operation): boolean {
    return (this.outages.get(operation) ?? 0) > 0
  }

  beginOutage(operation: Operation): void {
    this.outages.set(operation, (this.outages.get(operation) ?? 0) + 1)
  }

  endOutage(operation: Operation): void {
    this.outages.set(operation, (this.outages.get(operation) ?? 0) - 1)
  }

  /** Makes an attempt in a process: its time passes on the clock of the process, and it never ends if the process dies. */
  attempt(
    clock: Clock,
    operation: Operation,
    { ms, fails, ignoresSignal = false }: PlannedAttempt,
    signal: AbortSignal,
    onEnd?: (failed: boolean) => void,
    value = 'done',
  ): Promise<string> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        clock.clearTimer(timer)
        onEnd?.(true)
        reject(signal.reason as Error)
      }
      if (!ignoresSignal) signal.addEventListener('abort', onAbort)
      const timer = clock.setTimer(() => {
        signal.removeEventListener('abort', onAbort)
        const failed = fails || this.isDown(operation)
        if (this.isDown(operation))
          this.outageFailures.set(operation, (this.outageFailures.get(operation) ?? 0) + 1)
        onEnd?.(failed)
        if (failed) reject(createUpstreamError(operation))
        else resolve(value)
      }, ms)
    })
  }
}
