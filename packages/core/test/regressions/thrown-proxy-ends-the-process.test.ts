import { expect, it } from 'vitest'
import { guard, sessionOf } from '../../src/index.js'

const IMMEDIATE = { maxAttempts: 2, backoffType: 'immediate' } as const

/** An error whose traps throw, as objects of some mocking libraries do. */
const trapped = (...traps: (keyof ProxyHandler<Error>)[]) =>
  new Proxy(
    new Error('down'),
    Object.fromEntries(
      traps.map((trap) => [
        trap,
        () => {
          throw new Error(`the trap ${trap}`)
        },
      ]),
    ),
  )

it.each([
  ['has', trapped('has')],
  ['get', trapped('get')],
  ['getPrototypeOf', trapped('getPrototypeOf')],
  ['all of them', trapped('has', 'get', 'getPrototypeOf', 'defineProperty', 'getOwnPropertyDescriptor')],
])('a thrown Proxy with the trap %s ends only its call', async (_, error) => {
  for (const options of [{}, { hedge: { delay: 10 } }, { timeout: { attempt: 1000 } }]) {
    const api = guard({ retry: { ...IMMEDIATE, retryIf: () => true }, ...options })
    let calls = 0
    const fail = () => {
      calls++
      return Promise.reject(error)
    }
    const outcomes = await Promise.allSettled([
      api.run(fail),
      api.run(fail, { context: {} }),
      api.execute(fail),
    ])
    // Comparing the error itself would call its traps.
    expect(outcomes.map((outcome) => Object.is((outcome as { reason?: unknown }).reason, error))).toEqual([
      true,
      true,
      true,
    ])
    expect(calls).toBeGreaterThanOrEqual(6)
    expect(sessionOf(error)?.attempts.length).toBeGreaterThanOrEqual(2)
  }
})
