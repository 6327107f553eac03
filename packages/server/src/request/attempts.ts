import type { RetryAttempt } from '@holdfast/runtime'
import { type Attempt, type Clock, isHoldfastError } from 'holdfast'
import { redactText } from '../http/redact.js'
import type { IncomingResponse } from './send.js'

/** An answer that another attempt may change, thrown so that the policy decides. */
export class TransientStatusError extends Error {
  readonly status: number
  readonly headers: Record<string, string>
  readonly answer: IncomingResponse

  constructor(answer: IncomingResponse) {
    super(`it answered ${answer.status}`)
    this.status = answer.status
    this.headers = answer.headers
    this.answer = answer
  }
}

const isTransient = (status: number) =>
  [408, 425, 429].includes(status) || (status >= 500 && status !== 501 && status !== 505)

/** Writes down the attempts of one request as they end, for where no session does. */
export class RequestAttemptLog {
  readonly attempts: RetryAttempt[] = []
  private readonly clock: Clock
  private lastEndedAt: number | undefined

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Makes an attempt. An answer that another attempt may change is thrown. */
  async runAttempt(attempt: Attempt, send: () => Promise<IncomingResponse>): Promise<IncomingResponse> {
    const { clock } = this
    const started = clock.now()
    const base = {
      attemptNumber: attempt.number,
      timestamp: new Date(clock.wall()),
      delay: this.lastEndedAt === undefined ? 0 : Math.max(0, started - this.lastEndedAt),
      ...(attempt.member === undefined ? {} : { proxyId: attempt.member.id }),
    }
    let record: RetryAttempt | undefined
    // An attempt that is given up is over, though what it waits for may come later.
    const note = (rest: Pick<RetryAttempt, 'success' | 'outcome'> & Partial<RetryAttempt>) => {
      if (record !== undefined) return
      this.lastEndedAt = clock.now()
      record = { ...base, duration: this.lastEndedAt - started, ...rest }
      this.attempts.push(record)
    }
    const { signal } = attempt
    const givenUp = () => {
      const timely = isHoldfastError(signal.reason) && signal.reason.code.endsWith('_TIMEOUT')
      note({ success: false, outcome: timely ? 'timeout' : 'failure', error: summarizeError(signal.reason) })
    }
    signal.addEventListener('abort', givenUp, { once: true })
    try {
      const answer = await send()
      const failed = isTransient(answer.status)
      note({ success: !failed, outcome: failed ? 'failure' : 'success', statusCode: answer.status })
      if (failed) throw new TransientStatusError(answer)
      return answer
    } catch (error) {
      note({ success: false, outcome: 'failure', error: summarizeError(error) })
      throw error
    } finally {
      signal.removeEventListener('abort', givenUp)
    }
  }
}

/** An error in a few words, without secrets. */
export function summarizeError(error: unknown): { type: string; message: string } {
  if (!(error instanceof Error)) return { type: 'Error', message: 'it was given up' }
  const cause = error.cause instanceof Error && error.message === 'fetch failed' ? error.cause : error
  return {
    type: cause.name,
    message: redactText(cause.message || String((cause as { code?: unknown }).code)),
  }
}
