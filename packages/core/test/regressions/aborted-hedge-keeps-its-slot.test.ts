import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('releases the slot of a hedged call whose attempt was aborted, when its functions have settled', async () => {
  const clock = fakeClock()
  const one = guard({
    retry: false,
    hedge: { delay: 5 },
    bulkhead: { limit: 1 },
    timeout: { attempt: 20 },
    clock,
  })
  const cut = one
    .run(() => new Promise((resolve) => clock.setTimer(() => resolve(1), 40)))
    .catch((error) => error)
  await clock.advance(20)
  expect(await cut).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
  await expect(one.run(() => 2)).rejects.toMatchObject({ code: 'BULKHEAD_FULL' })
  await clock.advance(30)
  await expect(one.run(() => 2)).resolves.toBe(2)
})

it('releases the slot of a hedged call that the caller aborted, when its functions have settled', async () => {
  const clock = fakeClock()
  const one = guard({ retry: false, hedge: { delay: 5 }, bulkhead: { limit: 1 }, clock })
  const stop = new AbortController()
  const cut = one
    .run(() => new Promise((resolve) => clock.setTimer(() => resolve(1), 40)), { signal: stop.signal })
    .catch((error) => error)
  await clock.advance(10)
  stop.abort(new Error('enough'))
  expect(await cut).toMatchObject({ message: 'enough' })
  await clock.advance(60)
  await expect(one.run(() => 2)).resolves.toBe(2)
})
