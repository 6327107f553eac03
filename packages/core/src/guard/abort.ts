/** Something that ends when a signal is aborted. */
export interface Abortable {
  abort(reason: unknown): void
}

const followers = new WeakMap<AbortSignal, Followers>()

/** Everything that follows one signal, under one listener, however many calls share the signal. */
class Followers {
  private readonly set = new Set<Abortable>()
  private readonly signal: AbortSignal

  constructor(signal: AbortSignal) {
    this.signal = signal
    signal.addEventListener('abort', this, { once: true })
  }

  handleEvent(): void {
    followers.delete(this.signal)
    for (const follower of this.set) follower.abort(this.signal.reason)
  }

  add(follower: Abortable): void {
    this.set.add(follower)
  }

  delete(follower: Abortable): void {
    this.set.delete(follower)
    if (this.set.size > 0) return
    this.signal.removeEventListener('abort', this)
    followers.delete(this.signal)
  }
}

/** Aborts `follower` with the signal's reason when the signal is aborted. */
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
