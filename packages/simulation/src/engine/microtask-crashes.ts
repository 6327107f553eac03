import { promiseHooks } from 'node:v8'

/** A crash that waits for its microtask. */
interface ArmedCrash {
  /** How many microtasks of the node still run before it. */
  remaining: number
  readonly crash: () => void
}

/**
 * Ends processes between two of their microtasks, which is at any `await`. V8 reports every continuation of a promise before it
 * runs. The continuations of an event belong to the node whose code the event calls, so the nodes report when that happens, and
 * only these continuations are counted. The count depends on the code and the seed alone.
 */
export class MicrotaskCrashes {
  private readonly armed = new Map<string, ArmedCrash>()
  /** The crash of the node whose code runs in the current event. */
  private current: ArmedCrash | undefined
  private stopHook: (() => void) | undefined

  /** Calls `crash` before a microtask of a node: the first one from now on has number 1. */
  arm(node: string, number: number, crash: () => void): void {
    this.armed.set(node, {
      remaining: number,
      crash: () => {
        this.armed.delete(node)
        crash()
      },
    })
    // Reports of promises cost time, so they are only requested while a crash waits.
    this.stopHook ??= promiseHooks.onBefore(() => this.onMicrotask()) as () => void
  }

  /** The current event calls code of a node. */
  enter(node: string): void {
    if (this.armed.size > 0) this.current = this.armed.get(node)
  }

  /** All microtasks of the event have run. */
  onEventEnded(): void {
    this.current = undefined
    if (this.stopHook !== undefined && this.armed.size === 0) this.stop()
  }

  /** Forgets all crashes. */
  stop(): void {
    this.armed.clear()
    this.stopHook?.()
    this.stopHook = undefined
  }

  private onMicrotask(): void {
    const { current } = this
    if (current === undefined || --current.remaining > 0) return
    this.current = undefined
    current.crash()
  }
}
