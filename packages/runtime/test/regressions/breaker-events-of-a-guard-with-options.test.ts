import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CircuitBreaker, type Guard } from 'holdfast'
import { describe, expect, it, vi } from 'vitest'
import { failing, folder, refused, start } from '../holdfast/setup.js'

const CONFIG = {
  policies: {
    default: { maxAttempts: 1 },
    careful: { maxAttempts: 1, enableCircuitBreaker: true, circuitBreakerThreshold: 1 },
  },
  circuitBreakers: { notion: { failureThreshold: 1 }, slack: { failureThreshold: 1 } },
  subsystemMappings: { shop: { order: { default: 'careful' } } },
}

/** The ids of the breakers whose changes the guard reports. */
function changedBreakers(guard: Pick<Guard, 'on'>): string[] {
  const ids: string[] = []
  guard.on((event) => {
    if (event.type === 'breaker_changed') ids.push(event.id)
  })
  return ids
}

const fail = (guard: Guard) => guard.run(() => Promise.reject(refused())).catch(() => {})

describe('a listener of a guard with options', () => {
  it.each([
    ['service', 'orders', { service: 'notion' }, 'service:notion'],
    ['policy', 'orders', { policy: 'careful' }, 'policy:careful'],
    ['name', 'shop.order', { name: 'save' }, 'policy:careful'],
  ])('gets the changes of the breaker of its %s', async (_, operation, options, id) => {
    const { hf } = await start(CONFIG)
    const guard = hf.guard(operation, options)
    const changed = changedBreakers(guard)
    await fail(guard)
    expect(guard.breaker?.state).toBe('open')
    expect(changed).toEqual([id])
  })

  it('gets no changes of the breakers of a guard with the same name', async () => {
    const { hf } = await start(CONFIG)
    const guards = ['notion', 'slack'].map((service) => hf.guard('orders', { service }))
    const [notion, slack] = guards.map(changedBreakers)
    await fail(guards[0] as Guard)
    expect([notion, slack]).toEqual([['service:notion'], []])
  })

  it('gets the changes of the breaker of a guard that has no policy in the file', async () => {
    const { hf } = await start(CONFIG)
    const breaker = new CircuitBreaker({ id: 'Orders.save', failureThreshold: 1 })
    const guard = hf.guardFor('Orders.save', { retry: false, breaker })
    const changed = changedBreakers(guard)
    await fail(guard)
    expect(changed).toEqual(['Orders.save'])
  })

  it('gets the changes of the breaker of a fetch', async () => {
    const { hf } = await start(CONFIG)
    const send = hf.createFetch('orders', { service: 'notion', fetch: () => Promise.reject(refused()) })
    const changed = changedBreakers(send)
    await send('http://127.0.0.1/').catch(() => {})
    expect(changed).toEqual(['service:notion'])
  })

  it('is not reported as failing when a reload removes the service of its guard', async () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const text = (services: string) => `version: "1.2.0"\nstore: memory\ncircuit_breakers:\n${services}`
    const slack = '  slack: { failure_threshold: 1 }\n'
    const dir = await folder({ 'holdfast.yaml': text(`${slack}  notion: {}\n`) })
    const path = join(dir, 'holdfast.yaml')
    const { hf } = await start(path, { watch: false })
    const changed = changedBreakers(hf.guard('orders', { service: 'notion' }))
    await writeFile(path, text(slack))
    await hf.config.reload()
    await failing(hf, 'orders', refused, { service: 'slack', policy: { maxAttempts: 1 } })
    expect((await hf.breakers.get('service:slack'))?.state).toBe('open')
    expect(changed).toEqual([])
    expect(error).not.toHaveBeenCalled()
    error.mockRestore()
  })
})
