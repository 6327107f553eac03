// A listener that was not a function could not even be reported: the first event never ended, and later calls hung.
import { expect, it } from 'vitest'
import { CircuitBreaker, guard, Pool } from '../../src/index.js'

const subjects = {
  'a guard': () => guard(),
  'a circuit breaker': () => new CircuitBreaker(),
  'a pool': () => new Pool({ id: 'p', members: [] }),
}

it.each(Object.entries(subjects))('a listener of %s that is not a function is rejected', (whose, make) => {
  for (const given of [undefined, null, 5, 'log', {}])
    expect(() => make().on(given as never)).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining(`invalid options of ${whose}: on: expected a function, got`),
      }),
    )
})
