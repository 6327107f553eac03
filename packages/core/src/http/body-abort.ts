import { offAbort, onAbort } from '../execution/abort.js'

interface SignalSubscription {
  readonly signal: AbortSignal
  readonly listener: { abort(reason: unknown): void }
}

/** Forgets the callers' signals that bodies followed which nobody has any more. */
const signalSubscriptions = new FinalizationRegistry<SignalSubscription>(({ signal, listener }) =>
  offAbort(signal, listener),
)

/**
 * Lets the caller's signal end the reading of a body, as it would with fetch alone, though the request was sent with the
 * attempt's. Many bodies share one listener on a signal, which goes when they are gone.
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
