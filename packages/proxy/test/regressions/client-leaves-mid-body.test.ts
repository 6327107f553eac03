import { connect } from 'node:net'
import { guard, isHoldfastError } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { proxyPool } from '../../src/index.js'
import { proxyFor } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'
import { turn } from '../helpers/until.js'
import { startChain } from '../helpers/upstreams.js'

describe('a client that disconnects in the middle of its body', () => {
  it.each([
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'],
    ['long', 'Content-Length: 100000\r\n\r\nhello'],
    ['short', 'Content-Length: 10\r\n\r\nhello'],
  ])('cancels the call without a failure of a member (%s body)', async (_name, rest) => {
    const target = await startTarget()
    const upstream = await startChain()
    for (const end of ['destroy', 'end', 'resetAndDestroy'] as const) {
      const pool = proxyPool({ id: 'p', members: [upstream.url] })
      const inner = guard({ pool, retry: { maxAttempts: 3, backoffType: 'immediate' } })
      const outcomes: unknown[] = []
      let started = (): void => {}
      const proxy = await proxyFor({
        pool,
        guard: () => ({
          run: (fn, options) => {
            const running = inner.run((attempt) => {
              setImmediate(started)
              return fn(attempt)
            }, options)
            running.catch((error: unknown) => outcomes.push(error))
            return running
          },
        }),
      })
      const sent = new Promise<void>((resolve) => {
        started = resolve
      })
      const client = connect(proxy.port, '127.0.0.1').on('error', () => {})
      client.write(`POST ${target.url}/ HTTP/1.1\r\nHost: a\r\n${rest}`)
      if (_name === 'short') while (proxy.status().requests === 0) await turn()
      else await sent
      client[end]()
      while (proxy.status().connections > 0) await turn()
      for (let i = 0; i < 100; i++) await turn()
      expect(outcomes.map((error) => isHoldfastError(error, 'CANCELLED'))).toEqual(
        _name === 'short' ? [] : [true],
      )
      expect(pool.stats(pool.members()[0]?.id as string)).toMatchObject({ failureCount: 0 })
    }
    expect(target.arrived).toEqual([])
  })
})
