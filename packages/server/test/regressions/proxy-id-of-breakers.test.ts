import { expect, test } from 'vitest'
import { failCall, open } from '../fixture.js'

const { encodeURIComponent: part } = globalThis

test('proxy_id of a breaker is the member of its pool, and null for every other breaker', async () => {
  const { ask, hf } = await open()
  const { body } = await ask('GET', '/api/v1/circuit-breakers')
  const found = body.circuit_breakers.map(({ id, proxy_id }: { id: string; proxy_id: unknown }) => [
    id,
    proxy_id,
  ])
  expect(Object.fromEntries(found)).toEqual({
    'policy:guarded': null,
    'service:notion': null,
    'pool:proxies:p1': 'p1',
    'pool:proxies:p2': 'p2',
  })
  expect((await ask('GET', `/api/v1/circuit-breakers/${part('service:notion')}`)).body.proxy_id).toBeNull()
  await failCall(hf, 'guarded')
  await failCall(hf, 'guarded')
  await ask('POST', `/api/v1/circuit-breakers/${part('pool:proxies:p1')}/trip`)
  const events = (await ask('GET', '/api/v1/circuit-breakers/metrics')).body.events
  expect(
    events.map(({ id, proxy_id }: { id: string; proxy_id: unknown }) => [id, proxy_id]).toSorted(),
  ).toEqual([
    ['policy:guarded', null],
    ['pool:proxies:p1', 'p1'],
  ])
})

test('proxy_id that an earlier release stored with a change of another breaker is answered as null', async () => {
  const { ask, hf } = await open()
  await hf.store.breakerEvents.append([
    {
      id: 'service:notion',
      proxyId: 'notion',
      fromState: 'closed',
      toState: 'open',
      timestamp: new Date(Date.UTC(2026, 0, 29, 11, 59)),
      failureCount: 5,
    },
  ])
  const { body } = await ask('GET', '/api/v1/circuit-breakers/metrics')
  expect(body.events).toMatchObject([{ id: 'service:notion', proxy_id: null }])
})
