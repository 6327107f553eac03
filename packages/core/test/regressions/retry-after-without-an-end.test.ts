import { expect, it } from 'vitest'
import { classify } from '../../src/index.js'

it.each(['x-ratelimit-reset', 'retry-after', 'retry-after-ms'])(
  'a time in %s that is beyond all numbers is ignored',
  (name) => {
    const error = Object.assign(new Error('x'), { status: 429, headers: { [name]: '9'.repeat(400) } })
    expect(classify(error).retryAfter).toBeUndefined()
  },
)
