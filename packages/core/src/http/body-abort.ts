import { offAbort, onAbort } from '../abort.js'

interface SignalSubscription {
  readonly signal: AbortSignal
  readonly listener: { abort(reason: unknown): void }
}

/** Removes the listener of a body from the caller's signal when the body has been garbage collected. */
const signalSubscriptions = new FinalizationRegistry<SignalSubscription>(({ signal, listener }) =>
  offAbort(signal, listener),
)

/**
 * Aborts the reading of a body when the caller's signal is aborted, as fetch does. This is necessary because the request was
 * sent with the signal of the attempt. All bodies share one listener on the caller's signal.
 */
export function abortBodyOnSignal(
  signal: AbortSignal,
  { body }: Response,
  abort: (reason: unknown) => void,
): void {
  if (Object(body) !== body) return
  const listener = { abort }
  onAbort(signal, listener)
  signalSubscriptions.register(body as object, { signal, listener })
}
