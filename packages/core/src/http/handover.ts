import { offAbort, onAbort } from '../execution/abort.js'

interface Link {
  readonly signal: AbortSignal
  readonly follower: { abort(reason: unknown): void }
}

/** Forgets the callers' signals that bodies followed which nobody has any more. */
const links = new FinalizationRegistry<Link>(({ signal, follower }) => offAbort(signal, follower))

/**
 * Lets the caller's signal end the reading of a body, as it would with fetch alone, though the request was sent with the
 * attempt's. Many bodies share one listener on a signal, which goes when they are gone.
 */
export function keepFollowing(
  signal: AbortSignal,
  { body }: Response,
  abort: (reason: unknown) => void,
): void {
  if (Object(body) !== body) return
  const follower = { abort }
  onAbort(signal, follower)
  links.register(body as object, { signal, follower })
}
