import { type AsyncScope, captureContext, runInContext } from '../async-context.js'

/** Something that ends when a signal is aborted. */
export interface Abortable {
  abort(reason: unknown): void
}

const followers = new WeakMap<AbortSignal, Followers>()

/** Everything that follows one signal, under one listener, however many calls share the signal. */
class Followers {
  /** Each with the async context in which it began to follow. */
  private readonly followers = new Map<Abortable, AsyncScope | undefined>()
  private readonly signal: AbortSignal

  constructor(signal: AbortSignal) {
    this.signal = signal
    signal.addEventListener('abort', this, { once: true })
  }

  handleEvent(): void {
    followers.delete(this.signal)
    for (const [follower, scope] of this.followers)
      runInContext(scope, () => follower.abort(this.signal.reason))
  }

  add(follower: Abortable): void {
    this.followers.set(follower, captureContext())
  }

  delete(follower: Abortable): void {
    this.followers.delete(follower)
    if (this.followers.size > 0) return
    this.signal.removeEventListener('abort', this)
    followers.delete(this.signal)
  }
}

/** Aborts `follower` with the signal's reason when the signal is aborted, in the async context of this moment. */
export function follow(signal: AbortSignal, follower: Abortable): void {
  let here = followers.get(signal)
  if (here === undefined) {
    here = new Followers(signal)
    followers.set(signal, here)
  }
  here.add(follower)
}

/** Forgets a follower, and the listener with the last of them. */
export function unfollow(signal: AbortSignal, follower: Abortable): void {
  followers.get(signal)?.delete(follower)
}
