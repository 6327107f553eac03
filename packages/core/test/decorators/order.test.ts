import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as ft from '../../src/decorators/index.js'
import { setUp } from './setup.js'

const bench = setUp()

/** Decorators that all take effect in the test below. */
const decorators = () => [
  ft.Fallback((error) => `instead of ${(error as { code?: string }).code ?? (error as Error).message}`),
  ft.Retry({ maxRetries: 2, delay: 10, jitter: 0 }),
  ft.CircuitBreaker({ failureThreshold: 4, delay: 1000 }),
  ft.Timeout(50),
  ft.Bulkhead({ value: 2, waitingTaskQueue: 1 }),
]

/** The results and events of four concurrent calls and a later one. */
async function story(order: readonly number[], chosen: readonly number[]): Promise<unknown> {
  const { clock } = bench
  const all = decorators()
  let calls = 0
  const method = async (behaviour: string): Promise<string> => {
    calls++
    if (behaviour === 'hang') return new Promise(() => {})
    if (behaviour === 'fail') throw new Error('down')
    return behaviour
  }
  const context = { kind: 'method', name: 'work', static: false, metadata: undefined } as never
  const work = order.filter((i) => chosen.includes(i)).reduce((fn, i) => all[i]?.(fn, context) ?? fn, method)
  bench.configure()
  bench.events.length = 0
  const begun = clock.wall()
  const answers = Promise.allSettled(
    ['a', 'fail', 'b', 'fail', 'c', ...(chosen.includes(3) ? ['hang'] : [])].map(work),
  )
  await clock.advance(5000)
  const results = [...(await answers), ...(await Promise.allSettled([work('d')]))]
  return {
    calls,
    results: results.map((result) =>
      'value' in result ? result.value : `${result.reason.code ?? result.reason}`,
    ),
    events: bench.events.map(({ type, timestamp }) => `${timestamp - begun} ${type}`),
  }
}

describe('decorators of one method', () => {
  it('have the same effect in any order', async () => {
    const every = [0, 1, 2, 3, 4]
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(every, { minLength: 5 }),
        fc.subarray(every, { minLength: 1 }),
        async (order, chosen) => {
          expect(await story(order, chosen)).toEqual(await story(every, chosen))
        },
      ),
      { numRuns: 60 },
    )
  })
})
