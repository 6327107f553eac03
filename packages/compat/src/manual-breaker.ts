import { CircuitBreaker } from 'holdfast'

/**
 * The state of a circuit, in a breaker of the engine: closed, open, or half-open with one probe.
 *
 * The circuit of the other library decides when the state changes: by its own counts, and at its own times. So the breaker is
 * tripped and reset, and its clock advances only when the open time is over.
 */
export class ManualBreaker {
  private time = 0
  private readonly breaker = new CircuitBreaker({
    timeoutDuration: 1,
    halfOpenMax: 1,
    clock: {
      now: () => this.time,
      wall: () => this.time,
      setTimer: () => undefined,
      clearTimer: () => {},
    },
  })

  private get isOpenTimeOver(): boolean {
    return (this.breaker.nextTestTime ?? this.time) <= this.time
  }

  get isClosed(): boolean {
    return this.breaker.state === 'closed'
  }

  get isOpen(): boolean {
    return this.breaker.state === 'open' && !this.isOpenTimeOver
  }

  get isHalfOpen(): boolean {
    return !this.isClosed && !this.isOpen
  }

  /** Whether the next call is the probe of a half-open circuit. */
  get canProbe(): boolean {
    return this.breaker.state === 'open' && this.isOpenTimeOver
  }

  open(): void {
    this.breaker.trip()
  }

  halfOpen(): void {
    if (!this.isOpen) this.breaker.trip()
    this.time++
  }

  close(): void {
    this.breaker.reset()
  }

  /** Whether a call may start: any while closed, none while open, one while half-open. */
  admit(): boolean {
    return this.breaker.admit() !== undefined
  }
}
