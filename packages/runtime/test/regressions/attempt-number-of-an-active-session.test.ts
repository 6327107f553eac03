import { expect, it } from 'vitest'
import { refused, start } from '../holdfast/setup.js'

it('an active session includes its current attempt in its counts', async () => {
  const { hf, clock } = await start({ policies: { slow: { maxAttempts: 3, baseDelay: 1000 } } })
  let finish = () => {}
  const call = hf.run('slow', ({ number }) => {
    if (number === 1) throw refused()
    return new Promise<void>((resolve) => (finish = resolve))
  })
  await new Promise(setImmediate)
  const seen = async () => {
    const { items } = await hf.sessions.list({ active: true })
    return items.map(({ totalAttempts, retryCount, attempts }) => [
      totalAttempts,
      retryCount,
      attempts.length,
    ])
  }
  expect(await seen()).toEqual([[1, 0, 1]])
  await clock.advance(1000)
  expect(await seen()).toEqual([[2, 1, 1]])
  finish()
  await call
  expect((await hf.sessions.list()).items[0]).toMatchObject({ totalAttempts: 2, retryCount: 1 })
})
