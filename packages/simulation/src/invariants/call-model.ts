import { isHoldfastError } from 'holdfast'
import { Violation } from '../engine/violation.js'

/** The limits of a call, from its policy; undefined without a timeout. */
export interface CallLimits {
  readonly maxAttempts: number
  readonly attemptTimeout: number | undefined
  readonly totalTimeout: number | undefined
}

/** Timers of a process fire this much later than their time, because its clock can be slow. */
const TOLERANCE_MS = 100

interface Attempt {
  readonly number: number
  readonly startedAt: number
  readonly signal: AbortSignal
  end: 'succeeded' | 'failed' | undefined
}

/** What a fallback has returned or thrown. */
interface FallbackEnd {
  readonly value?: string
  readonly error?: Error
}

/**
 * The promises about the attempts of one call: at most `maxAttempts`, one after the other, none after the call has settled or was
 * aborted, each within its timeout; and the result of the call is that of its last attempt, or of its fallback.
 */
export class CallModel {
  private readonly name: string
  private readonly limits: CallLimits
  private readonly startedAt: number
  private readonly callerSignal: AbortSignal | undefined
  private readonly attempts: Attempt[] = []
  private isSettled = false
  private hasFallback = false
  /** How the fallback ended; undefined until then. */
  private fallbackEnd: FallbackEnd | undefined

  constructor(name: string, limits: CallLimits, startedAt: number, callerSignal: AbortSignal | undefined) {
    this.name = name
    this.limits = limits
    this.startedAt = startedAt
    this.callerSignal = callerSignal
  }

  get attemptCount(): number {
    return this.attempts.length
  }

  /** The value of an attempt. */
  valueOf(number: number): string {
    return `${this.name}, attempt ${number}`
  }

  onAttemptStarted(number: number, signal: AbortSignal, now: number): Attempt {
    const { maxAttempts, totalTimeout } = this.limits
    const last = this.attempts.at(-1)
    if (this.isSettled) this.fail(`began attempt ${number} after it had settled`)
    if (this.hasFallback) this.fail(`began attempt ${number} after its fallback`)
    if (this.callerSignal?.aborted) this.fail(`began attempt ${number} after it was aborted`)
    if (number !== this.attempts.length + 1)
      this.fail(`began attempt ${number} after ${this.attempts.length} attempts`)
    if (number > maxAttempts) this.fail(`began attempt ${number} of ${maxAttempts}`)
    if (last !== undefined && last.end === undefined && !last.signal.aborted)
      this.fail(`began attempt ${number} while attempt ${last.number} runs`)
    if (last?.end === 'succeeded' && !last.signal.aborted)
      this.fail(`began attempt ${number} after attempt ${last.number} had succeeded`)
    if (totalTimeout !== undefined && now - this.startedAt > totalTimeout + TOLERANCE_MS)
      this.fail(`began attempt ${number} ${now - this.startedAt} ms after its start`)
    if (signal.aborted) this.fail(`began attempt ${number} with an aborted signal`)
    const attempt: Attempt = { number, startedAt: now, signal, end: undefined }
    this.attempts.push(attempt)
    return attempt
  }

  onAttemptEnded(attempt: Attempt, failed: boolean, now: number): void {
    const { attemptTimeout } = this.limits
    attempt.end = failed ? 'failed' : 'succeeded'
    const ms = now - attempt.startedAt
    if (attemptTimeout !== undefined && ms > attemptTimeout + TOLERANCE_MS && !attempt.signal.aborted)
      this.fail(`attempt ${attempt.number} ran for ${ms} ms without a timeout`)
  }

  /** The fallback begins: the attempts have failed, and none follows. */
  onFallback(): void {
    const last = this.attempts.at(-1)
    if (this.hasFallback) this.fail('called its fallback twice')
    if (this.isSettled) this.fail('called its fallback after it had settled')
    if (this.callerSignal?.aborted) this.fail('called its fallback after it was aborted')
    if (last?.end === 'succeeded' && !last.signal.aborted)
      this.fail(`called its fallback, and attempt ${last.number} had succeeded`)
    this.hasFallback = true
  }

  onFallbackEnded(end: FallbackEnd): void {
    this.fallbackEnd = end
  }

  onSucceeded(value: unknown): void {
    this.isSettled = true
    if (this.hasFallback) {
      const expected = this.fallbackEnd?.value
      if (expected === undefined || value !== expected)
        this.fail(`returned ${String(value)}, and its fallback returned ${expected ?? 'no value'}`)
      return
    }
    const last = this.attempts.at(-1)
    if (last === undefined) this.fail('succeeded without an attempt')
    if (value !== this.valueOf(last.number))
      this.fail(`returned the value ${String(value)}, and its last attempt was ${last.number}`)
    if (last.end !== 'succeeded') this.fail(`succeeded, and its last attempt has ${last.end ?? 'not ended'}`)
  }

  onFailed(error: unknown): void {
    this.isSettled = true
    const { callerSignal, fallbackEnd } = this
    const isStopped = callerSignal?.aborted === true || isHoldfastError(error, 'CANCELLED')
    if (this.hasFallback && !isStopped) {
      if (fallbackEnd === undefined) this.fail('failed before the end of its fallback')
      if (error !== fallbackEnd.error)
        this.fail(
          `failed with ${String(error)}, and its fallback ended with ${String(fallbackEnd.error ?? fallbackEnd.value)}`,
        )
    }
    const last = this.attempts.at(-1)
    if (last?.end === 'succeeded' && !last.signal.aborted && callerSignal?.aborted !== true)
      this.fail(`failed, and attempt ${last.number} had succeeded`)
  }

  private fail(problem: string): never {
    throw new Violation('calls', `${this.name} ${problem}`)
  }
}
