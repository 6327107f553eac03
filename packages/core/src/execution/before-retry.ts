import { AttemptContext } from '../attempt/attempt.js'
import { readCauseChain } from '../classify/cause-chain.js'
import { setCause } from '../fallback/fallback.js'
import { unwrapStopRetrying } from '../retry/decide.js'
import type { RetryInfo } from '../retry/options.js'

/** One run of `beforeRetry`, and the way to abort its signal. */
export class RetryPreparation {
  private readonly info: Omit<RetryInfo, 'signal'>
  private readonly context: AttemptContext

  constructor(info: Omit<RetryInfo, 'signal'>) {
    this.info = info
    this.context = new AttemptContext(info.attempt, undefined)
  }

  /** Calls the function. Where it throws, the error of the last attempt becomes the cause of its error. */
  async run(beforeRetry: (info: RetryInfo) => unknown): Promise<void> {
    const { info, context } = this
    try {
      await beforeRetry({
        ...info,
        // A signal is expensive, so it is created when it is read.
        get signal() {
          return context.signal
        },
      })
    } catch (thrown) {
      const error = unwrapStopRetrying(thrown)
      if (info.error !== undefined && !readCauseChain(info.error).nodes.includes(error as never))
        setCause(error, info.error)
      throw error
    }
  }

  abort(reason: unknown): void {
    this.context.abort(reason)
  }
}
