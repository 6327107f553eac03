// A listener that aborted the call from inside an event had the function called after the abort.
import { expect, it, vi } from 'vitest'
import { guard, type Member, Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate, never } from '../guard/watch.js'

it('the function is not called after a listener of the breaker aborted', async () => {
  const clock = fakeClock()
  const controller = new AbortController()
  const api = guard({ clock, breaker: { timeoutDuration: 1000 } })
  api.breaker?.trip()
  await clock.advance(1000)
  api.breaker?.on(() => controller.abort('enough'))
  const fn = vi.fn()
  const call = fate(api.run(fn, { signal: controller.signal }))
  await clock.advance(0)
  expect(call).toEqual({ state: 'rejected', error: 'enough' })
  expect(fn).not.toHaveBeenCalled()
})

/** A pool of `count` members of which the last was tripped and can be probed again, and a call that its breaker aborts. */
async function poolWithProbe(count: number) {
  const clock = fakeClock()
  const controller = new AbortController()
  const ids = Array.from({ length: count }, (_, i) => `m${i}`)
  const pool = new Pool({
    id: 'p',
    members: ids.map((id) => ({ id, value: id })),
    breaker: { timeoutDuration: 1000 },
    strategy: (candidates) => candidates[0] as Member<string>,
    clock,
  })
  const breaker = pool.breaker(`m${count - 1}`)
  breaker?.trip()
  await clock.advance(1000)
  breaker?.on(() => controller.abort('enough'))
  return { clock, controller, pool, breaker }
}

it('the function is not called after a listener of the breaker of a pool member aborted', async () => {
  const { clock, controller, pool, breaker } = await poolWithProbe(1)
  const fn = vi.fn()
  const call = fate(guard({ clock, pool, retry: false }).run(fn, { signal: controller.signal }))
  await clock.advance(0)
  expect(call).toEqual({ state: 'rejected', error: 'enough' })
  expect(fn).not.toHaveBeenCalled()
  expect(breaker?.admit()).toBeDefined() // the permit of the probe was returned
})

it('a hedge is not started after a listener of the breaker of a pool member aborted', async () => {
  const { clock, controller, pool, breaker } = await poolWithProbe(2)
  const members: string[] = []
  const hang = ({ member }: { member: Member<string> }) => {
    members.push(member.id)
    return never()
  }
  const api = guard({ clock, pool, retry: false, hedge: { delay: 10 } })
  const call = fate(api.run(hang, { signal: controller.signal }))
  await clock.advance(10)
  expect(call).toEqual({ state: 'rejected', error: 'enough' })
  expect(members).toEqual(['m0'])
  expect(breaker?.admit()).toBeDefined()
})
