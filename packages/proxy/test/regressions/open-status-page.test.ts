import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { basic, proxyFor, raw } from '../helpers/clients.js'

const users = [
  { name: 'ann', password: 'right' },
  { name: 'bob', password: 'other' },
]

describe('the status page', () => {
  it('requires credentials of a proxy with users, and limits wrong passwords', async () => {
    const proxy = await proxyFor({ users, clock: fakeClock() })
    const page = (headers: Record<string, string> = {}) => fetch(proxy.url, { headers })
    const refused = await page()
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
    expect(await refused.text()).not.toContain('tunnels')
    expect((await fetch(`${proxy.url}/other`)).status).toBe(401)
    const got = await page({ authorization: basic('ann', 'right') })
    expect(got.status).toBe(200)
    expect(await got.text()).toContain('tunnels')
    const proxied = `GET / HTTP/1.1\r\nHost: a\r\nProxy-Authorization: ${basic('ann', 'right')}\r\nConnection: close\r\n\r\n`
    expect(await raw(proxy, proxied)).toMatch(/^HTTP\/1\.1 200 /)
    for (let i = 0; i < 11; i++) await page({ authorization: basic('bob', 'guess') })
    expect((await page({ authorization: basic('bob', 'other') })).status).toBe(429)
  })

  it('has headers against framing and content sniffing', async () => {
    const proxy = await proxyFor()
    for (const path of ['/', '/other']) {
      const { headers } = await fetch(proxy.url + path)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    }
  })
})
