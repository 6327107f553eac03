import type { Guard, GuardEvent } from '../../src/index.js'

/** What became of a promise so far. */
export interface Fate {
  state: 'pending' | 'fulfilled' | 'rejected'
  value?: unknown
  error?: unknown
}

/** Follows a promise without waiting for it, and keeps a rejection from being unhandled. */
export function fate(promise: Promise<unknown>): Fate {
  const found: Fate = { state: 'pending' }
  promise.then(
    (value) => Object.assign(found, { state: 'fulfilled', value }),
    (error: unknown) => Object.assign(found, { state: 'rejected', error }),
  )
  return found
}

/** What a promise rejects with; an error of its own where it does not. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  const found = fate(promise)
  await Promise.allSettled([promise])
  if (found.state === 'fulfilled') throw new Error('it was fulfilled')
  return found.error
}

/** Every event of a guard from now on. */
export function eventsOf(guard: Guard): GuardEvent[] {
  const events: GuardEvent[] = []
  guard.on((event) => events.push(event))
  return events
}

/** An error with properties of its own. */
export const errorWith = (facts: object, message = 'down'): Error => Object.assign(new Error(message), facts)

/** A promise that stays as it is. */
export const never = (): Promise<never> => new Promise(() => {})

/** What has a `then` and is no promise. */
export function thenable<T>(settle: (resolve: (value: T) => void, reject: (error: unknown) => void) => void) {
  // oxlint-disable-next-line unicorn/no-thenable -- that is what it is for
  return { then: settle } as unknown as PromiseLike<T>
}
