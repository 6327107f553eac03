import { startTimer } from '../platform.js'

/**
 * Counts the calls that may still start. It is public as `breaker.semaphore`, and `fire` emits `semaphoreLocked` before it
 * returns, so this is not the bulkhead of a guard, which rejects later and shows no count.
 */
export interface Semaphore {
  /** The number of free slots. */
  readonly count: number
  /** Takes a slot, now or when one is released, and returns the function that releases it. */
  take(timeout?: number): Promise<() => void>
  release(): void
  /** Takes a slot if one is free. */
  test(): boolean
}

export function createSemaphore(slots: number): Semaphore {
  const waiting: (() => void)[] = []
  let free = slots

  const release = (): void => {
    free++
    waiting.shift()?.()
  }

  const take = (timeout?: number): Promise<() => void> => {
    if (free > 0) {
      free--
      return Promise.resolve(release)
    }
    return new Promise((resolve, reject) => {
      waiting.push(() => {
        free--
        resolve(release)
      })
      if (!timeout) return
      startTimer(() => {
        waiting.shift()
        reject(Object.assign(new Error(`Timed out after ${timeout}ms`), { code: 'ETIMEDOUT' }))
      }, timeout)
    })
  }

  const test = (): boolean => {
    if (free < 1) return false
    void take()
    return true
  }

  return {
    take,
    release,
    test,
    get count() {
      return free
    },
  }
}
