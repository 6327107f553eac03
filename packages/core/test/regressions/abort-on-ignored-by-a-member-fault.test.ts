import { expect, it } from 'vitest'
import { guard, Pool, sessionOf } from '../../src/index.js'

class Banned extends Error {}

const members = ['a', 'b', 'c'].map((id) => ({ id, value: id }))
const immediate = { backoffType: 'immediate' } as const
const forbidden = () => Object.assign(new Error('no'), { status: 403 })

it.each([
  ['a status', { memberFaults: [403] }, forbidden, ['access_denied']],
  ['a predicate', { memberFault: () => true }, () => new Banned(), [Banned]],
])('an error in abortOn is not retried on another member: %s', async (_, faults, make, abortOn) => {
  for (const hedge of [undefined, { delay: 60_000, max: 2 }]) {
    const pool = new Pool({ id: 'p', members, ...faults })
    let calls = 0
    const error = await guard({ pool, ...(hedge && { hedge }), retry: { ...immediate, abortOn } })
      .run(() => {
        calls++
        throw make()
      })
      .catch((thrown: unknown) => thrown)
    expect([calls, sessionOf(error)?.stopped]).toEqual([1, 'not_retryable'])
  }
})
