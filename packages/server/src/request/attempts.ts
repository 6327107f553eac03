import type { RetryAttempt } from '@holdfast/runtime'
import { type Attempt, type Clock, isHoldfastError } from 'holdfast'
import { isRetryableStatus } from 'holdfast/internal'
import type { IncomingResponse } from './send.js'

/** A response with a transient status. It is thrown so that the policy decides about a retry. */
export class TransientStatusError extends Error {
  readonly status: number
  readonly headers: Record<string, string>
  readonly response: IncomingResponse

  constructor(response: IncomingResponse) {
    super(`the target responded with status ${response.status}`)
    this.status = response.status
    this.headers = response.headers
    this.response = response
  }
}

const isTransient = (status: number) => isRetryableStatus(status) && status !== 501 && status !== 505

/** Records the attempts of one request, for requests that have no session. */
export class RequestAttemptLog {
  readonly attempts: RetryAttempt[] = []
  private readonly clock: Clock
  private readonly redact: (text: string) => string
  private lastEndedAt: number | undefined

  constructor(clock: Clock, redact: (text: string) => string) {
    this.clock = clock
    this.redact = redact
  }

  /** Runs an attempt and records it. A response with a transient status is thrown. */
  async runAttempt(attempt: Attempt, send: () => Promise<IncomingResponse>): Promise<IncomingResponse> {
    const { clock, redact } = this
    const started = clock.now()
    const base = {
      attemptNumber: attempt.number,
      timestamp: new Date(clock.wall()),
      delay: this.lastEndedAt === undefined ? 0 : Math.max(0, started - this.lastEndedAt),
      ...(attempt.member === undefined ? {} : { proxyId: attempt.member.id }),
    }
    let record: RetryAttempt | undefined
    // An attempt ends with its abort, even if its response arrives later.
    const recordEnd = (rest: Pick<RetryAttempt, 'success' | 'outcome'> & Partial<RetryAttempt>) => {
      if (record !== undefined) return
      this.lastEndedAt = clock.now()
      record = { ...base, duration: this.lastEndedAt - started, ...rest }
      this.attempts.push(record)
    }
    const { signal } = attempt
    const onAbort = () => {
      const isTimeout = isHoldfastError(signal.reason) && signal.reason.code.endsWith('_TIMEOUT')
      recordEnd({
        success: false,
        outcome: isTimeout ? 'timeout' : 'failure',
        error: summarizeError(signal.reason, redact),
      })
    }
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      const response = await send()
      const hasFailed = isTransient(response.status)
      recordEnd({
        success: !hasFailed,
        outcome: hasFailed ? 'failure' : 'success',
        statusCode: response.status,
      })
      if (hasFailed) throw new TransientStatusError(response)
      return response
    } catch (error) {
      recordEnd({ success: false, outcome: 'failure', error: summarizeError(error, redact) })
      throw error
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}

/** The type and message of an error, with secrets redacted. */
export function summarizeError(
  error: unknown,
  redact: (text: string) => string,
): { type: string; message: string } {
  if (!(error instanceof Error)) return { type: 'Error', message: 'the attempt was cancelled' }
  const cause = error.cause instanceof Error && error.message === 'fetch failed' ? error.cause : error
  return {
    type: cause.name,
    message: redact(cause.message || String((cause as { code?: unknown }).code)),
  }
}
