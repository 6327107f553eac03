import { expect, it } from 'vitest'
import { parseRetryAfter } from '../../src/classify/index.js'
import { classify } from '../../src/index.js'

it.each(['x-ratelimit-reset', 'retry-after', 'retry-after-ms'])(
  'a time in %s that is beyond all numbers is ignored',
  (name) => {
    const error = Object.assign(new Error('x'), { status: 429, headers: { [name]: '9'.repeat(400) } })
    expect(classify(error).retryAfter).toBeUndefined()
  },
)

it('a time in x-ratelimit-reset with a fraction of a millisecond is rounded up', () => {
  const headers = { 'x-ratelimit-reset': '1769688060.0004' }
  expect(parseRetryAfter({ headers }, 1_769_688_000_000)).toBe(60_001)
})
