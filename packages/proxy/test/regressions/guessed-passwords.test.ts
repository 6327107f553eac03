import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { ask, basic, proxyFor, raw } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'

const users = [
  { name: 'ann', password: 'right' },
  { name: 'bob', password: 'other' },
]

const as = (name: string, password: string): { headers: Record<string, string> } => ({
  headers: { 'proxy-authorization': basic(name, password) },
})

describe('wrong proxy passwords', () => {
  it('are answered with 429 after ten from one address, and so is the correct one', async () => {
    const clock = fakeClock()
    const target = await startTarget()
    const proxy = await proxyFor({ users, clock })
    for (let i = 0; i < 10; i++)
      expect((await ask(proxy, target.url, as('ann', `guess ${i}`))).status).toBe(407)
    for (const password of ['guess', 'right']) {
      const refused = await ask(proxy, target.url, as('ann', password))
      expect(refused.status).toBe(429)
      expect(refused.headers['retry-after']).toBe('60')
      expect(JSON.parse(refused.body)).toMatchObject({ error: 'RATE_LIMITED' })
    }
    const connecting = `CONNECT 127.0.0.1:${target.port} HTTP/1.1\r\nHost: a\r\nProxy-Authorization: ${basic('ann', 'right')}\r\n\r\n`
    expect(await raw(proxy, connecting)).toMatch(/^HTTP\/1\.1 429 /)
    expect(target.arrived).toEqual([])
    await clock.advance(60_000)
    expect((await ask(proxy, target.url, as('ann', 'right'))).status).toBe(200)
  })

  it('do not lock out a user admitted before from the address, or requests without credentials', async () => {
    const target = await startTarget()
    const proxy = await proxyFor({ users, clock: fakeClock() })
    expect((await ask(proxy, target.url, as('bob', 'other'))).status).toBe(200)
    for (let i = 0; i < 12; i++) await ask(proxy, target.url, as('ann', `guess ${i}`))
    expect((await ask(proxy, target.url, as('bob-session-1', 'other'))).status).toBe(200)
    expect((await ask(proxy, target.url)).status).toBe(407)
    expect((await ask(proxy, target.url, as('ann', 'right'))).status).toBe(429)
  })

  it('of a user who was admitted before are limited too', async () => {
    const target = await startTarget()
    const proxy = await proxyFor({ users, clock: fakeClock() })
    expect((await ask(proxy, target.url, as('ann', 'right'))).status).toBe(200)
    for (let i = 0; i < 11; i++) await ask(proxy, target.url, as('ann', `guess ${i}`))
    expect((await ask(proxy, target.url, as('ann', 'right'))).status).toBe(429)
  })
})
