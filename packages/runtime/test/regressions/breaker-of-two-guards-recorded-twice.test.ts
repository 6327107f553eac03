import { CircuitBreaker } from 'holdfast'
import { expect, it } from 'vitest'
import { refused, start } from '../holdfast/setup.js'

it('guardFor: a change of a breaker that two guards share is recorded once', async () => {
  const { hf, events } = await start({})
  const breaker = new CircuitBreaker({ id: 'Orders', failureThreshold: 1 })
  const guards = ['Orders.save', 'Orders.load'].map((name) => hf.guardFor(name, { retry: false, breaker }))
  const changed: (string | undefined)[] = []
  for (const guard of guards)
    guard.on((event) => {
      if (event.type === 'breaker_changed') changed.push(guard.name)
    })
  await guards[0]?.run(() => Promise.reject(refused())).catch(() => {})
  expect(changed).toEqual(['Orders.save', 'Orders.load'])
  expect(events.filter(({ eventType }) => eventType === 'circuit_breaker_opened')).toHaveLength(1)
  expect((await hf.breakers.events()).items).toMatchObject([{ id: 'Orders', toState: 'open' }])
})
