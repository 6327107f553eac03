import { type AbortListener, offAbort, onAbort } from '../abort.js'
import type { AttemptContext } from '../attempt/attempt.js'

interface SignalSubscription {
  readonly signal: AbortSignal
  readonly listener: AbortListener
}

/** Removes the listener of a body from the caller's signal when the body has been garbage collected. */
const signalSubscriptions = new FinalizationRegistry<SignalSubscription>(({ signal, listener }) =>
  offAbort(signal, listener),
)

/** The attempt of each body. A body keeps its attempt alive, as long as it can be read. */
const attempts = new WeakMap<object, AttemptContext>()

/** Aborts an attempt, but does not keep it alive: through its signal, the attempt references the body. */
class BodyAbortListener implements AbortListener {
  private readonly attempt: WeakRef<AttemptContext>

  constructor(attempt: AttemptContext) {
    this.attempt = new WeakRef(attempt)
  }

  abort(reason: unknown): void {
    this.attempt.deref()?.abort(reason)
  }
}

/**
 * Aborts the reading of a body when the caller's signal is aborted, as fetch does. This is necessary because the request was
 * sent with the signal of the attempt. All bodies share one listener on the caller's signal.
 */
export function abortBodyOnSignal(signal: AbortSignal, { body }: Response, attempt: AttemptContext): void {
  if (Object(body) !== body) return
  const listener = new BodyAbortListener(attempt)
  attempts.set(body as object, attempt)
  onAbort(signal, listener)
  signalSubscriptions.register(body as object, { signal, listener })
}
