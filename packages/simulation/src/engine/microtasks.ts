/** Node.js runs it after each callback of the event loop: ticks and microtasks until there are none. */
const drain = (process as unknown as { _tickCallback?: () => void })._tickCallback

/**
 * Runs all pending microtasks before it returns. Only code that the event loop has called directly may use it, because V8 ignores
 * the request inside a microtask.
 */
export function runMicrotasks(): void {
  if (drain === undefined) throw new Error('this version of Node.js cannot run microtasks synchronously')
  drain()
}

/** Calls `fn` directly from the event loop, so that it can use {@link runMicrotasks}. */
export function runInMacrotask<T>(fn: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        resolve(fn())
      } catch (error) {
        reject(error as Error)
      }
    })
  })
}
