import { describe, expect, it } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { fakeClock } from '../../src/testing/index.js'

describe('a hedged fetch whose responses arrive in the same tick', () => {
  it.each([
    { first: 0, second: 1, statuses: [200, 200] },
    { first: 1, second: 0, statuses: [200, 200] },
    { first: 0, second: 1, statuses: [200, 503] },
    { first: 0, second: 1, statuses: [503, 200] },
  ])('returns one of them with its complete body', async ({ first, second, statuses }) => {
    const clock = fakeClock()
    const answers: ((response: Response) => void)[] = []
    const hedged = createFetch({
      retry: false,
      hedge: { delay: 5 },
      clock,
      fetch: () => new Promise<Response>((resolve) => answers.push(resolve)),
    })
    const answer = hedged('http://one.test/')
    await clock.advance(10)
    answers[first]?.(new Response('whole', { status: statuses[0] as number }))
    answers[second]?.(new Response('whole', { status: statuses[1] as number }))
    const got = await answer
    expect(got.status).toBe(200)
    expect(await got.text()).toBe('whole')
  })
})
