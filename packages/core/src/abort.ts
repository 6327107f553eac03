import { type AsyncScope, captureContext, runInContext } from './async-context.js'

/** Called when a signal is aborted. */
export interface AbortListener {
  abort(reason: unknown): void
}

const sharedListeners = new WeakMap<AbortSignal, SharedAbortListener>()

/** One event listener per signal for all calls that use the signal. It is removed with the last of them. */
class SharedAbortListener {
  /** Each listener with the async context in which it was added. */
  private readonly listeners = new Map<AbortListener, AsyncScope | undefined>()
  private readonly signal: AbortSignal

  constructor(signal: AbortSignal) {
    this.signal = signal
    signal.addEventListener('abort', this, { once: true })
  }

  handleEvent(): void {
    sharedListeners.delete(this.signal)
    for (const [listener, scope] of this.listeners)
      runInContext(scope, () => listener.abort(this.signal.reason))
  }

  add(listener: AbortListener): void {
    this.listeners.set(listener, captureContext())
  }

  delete(listener: AbortListener): void {
    this.listeners.delete(listener)
    if (this.listeners.size > 0) return
    this.signal.removeEventListener('abort', this)
    sharedListeners.delete(this.signal)
  }
}

/** Calls `listener.abort` with the signal's reason when the signal is aborted, in the current async context. */
export function onAbort(signal: AbortSignal, listener: AbortListener): void {
  let shared = sharedListeners.get(signal)
  if (shared === undefined) {
    shared = new SharedAbortListener(signal)
    sharedListeners.set(signal, shared)
  }
  shared.add(listener)
}

/** Removes a listener added by {@link onAbort}. */
export function offAbort(signal: AbortSignal, listener: AbortListener): void {
  sharedListeners.get(signal)?.delete(listener)
}
