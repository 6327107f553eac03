import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { systemClock } from 'holdfast/internal'
import { afterEach, expect, it } from 'vitest'
import { startMemberProbes } from '../../src/serve/member-probes.js'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

it('a probe closes the breaker of a recovered member without traffic, and not that of a failing one', async () => {
  let asked = 0
  const proxy = createServer((_request, answer) => {
    asked++
    answer.end('fine')
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  ends.push(() => proxy.close())
  const port = (proxy.address() as AddressInfo).port
  const hf = await Holdfast.open({
    config: {
      pools: {
        p: {
          circuitBreaker: { failureThreshold: 1, timeoutDuration: 1, probeLease: 30_000 },
          members: [
            { id: 'good', url: `http://127.0.0.1:${port}` },
            { id: 'dead', url: 'http://127.0.0.1:1' },
          ],
          probe: { interval: 5, url: 'http://example.com/ok' },
        },
      },
    },
    clock: systemClock,
  })
  ends.push(() => hf.close())
  const pool = hf.pools.get('p')
  pool.breaker('good').trip()
  pool.breaker('dead').trip()
  const probes = startMemberProbes(hf)
  ends.push(() => probes.close())
  await expect.poll(() => pool.breaker('good').state).toBe('closed')
  expect(asked).toBe(1)
  expect(pool.breaker('dead').state).not.toBe('closed')
})
