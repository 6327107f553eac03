import type { Guard, GuardEvent } from '../../src/index.js'

/** The state of a promise. */
export interface Fate {
  state: 'pending' | 'fulfilled' | 'rejected'
  value?: unknown
  error?: unknown
}

/** Records the state of a promise without waiting for it, and handles its rejection. */
export function fate(promise: Promise<unknown>): Fate {
  const found: Fate = { state: 'pending' }
  promise.then(
    (value) => Object.assign(found, { state: 'fulfilled', value }),
    (error: unknown) => Object.assign(found, { state: 'rejected', error }),
  )
  return found
}

/** Returns the error that a promise rejects with; throws where the promise resolves. */
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

/** A promise that never settles. */
export const never = (): Promise<never> => new Promise(() => {})

/** An object with a `then` that is not a promise. */
export function thenable<T>(settle: (resolve: (value: T) => void, reject: (error: unknown) => void) => void) {
  // oxlint-disable-next-line unicorn/no-thenable -- that is what it is for
  return { then: settle } as unknown as PromiseLike<T>
}
