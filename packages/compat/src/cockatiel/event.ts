import { TaskCancelledError } from './errors.js'

/** An object that ends something, such as a subscription. */
export interface IDisposable {
  dispose(): void
}

/** Subscribes a listener, and returns the object that removes it. */
export type Event<T> = (listener: (data: T) => void) => IDisposable

const NOTHING_TO_DISPOSE: IDisposable = { dispose: () => {} }

/** Calls the listener with the next event only. */
function once<T>(event: Event<T>, listener: (data: T) => void): IDisposable {
  let isDone = false
  let subscription: IDisposable | undefined
  subscription = event((data) => {
    isDone = true
    listener(data)
    subscription?.dispose()
  })
  // An event can call the listener before it returns.
  if (isDone) subscription.dispose()
  return subscription
}

/** Resolves with the next event. Rejects with a {@link TaskCancelledError} when the signal is aborted before. */
async function toPromise<T>(event: Event<T>, signal?: AbortSignal): Promise<T> {
  if (signal?.aborted) throw new TaskCancelledError()
  const subscriptions: IDisposable[] = []
  try {
    return await new Promise<T>((resolve, reject) => {
      if (signal !== undefined) {
        const aborted = onAbort(signal)
        subscriptions.push(
          aborted,
          aborted.event(() => reject(new TaskCancelledError())),
        )
      }
      subscriptions.push(once(event, resolve))
    })
  } finally {
    for (const subscription of subscriptions) subscription.dispose()
  }
}

/** Functions for events. */
export const Event = { once, toPromise }

/** An event that is emitted when the signal is aborted, or at once if it is aborted. */
export function onAbort(signal: AbortSignal): { event: Event<void> } & IDisposable {
  const emitter = new EventEmitter<void>()
  const onSignal = () => emitter.emit()
  signal.addEventListener('abort', onSignal, { once: true })
  return {
    event(listener) {
      if (!signal.aborted) return emitter.addListener(listener)
      listener()
      return NOTHING_TO_DISPOSE
    },
    dispose: () => signal.removeEventListener('abort', onSignal),
  }
}

/** Calls its listeners with each event, in the order of their subscription. */
export class EventEmitter<T> {
  private listeners: readonly ((data: T) => void)[] = []

  /** Subscribes a listener. It is bound, so it can be passed on as an {@link Event}. */
  readonly addListener: Event<T> = (listener) => {
    this.listeners = [...this.listeners, listener]
    return { dispose: () => this.removeListener(listener) }
  }

  /** The number of listeners. */
  get size(): number {
    return this.listeners.length
  }

  /** Calls the listeners. An error that one throws is thrown to the caller. */
  emit(value: T): void {
    for (const listener of this.listeners) listener(value)
  }

  private removeListener(listener: (data: T) => void): void {
    const index = this.listeners.indexOf(listener)
    if (index >= 0) this.listeners = this.listeners.filter((_, other) => other !== index)
  }
}
