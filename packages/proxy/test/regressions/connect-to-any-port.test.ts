import { describe, expect, it } from 'vitest'
import { proxyFor, raw } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'

describe('connectPorts', () => {
  it('limits CONNECT to the listed ports', async () => {
    const target = await startTarget()
    const connecting = (port: number): string => `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: a\r\n\r\n`
    const proxy = await proxyFor({ connectPorts: [443, target.port] })
    expect(await raw(proxy, connecting(target.port), 'Established')).toMatch(/^HTTP\/1\.1 200 /)
    const refused = await raw(proxy, connecting(25))
    expect(refused).toMatch(/^HTTP\/1\.1 403 /)
    expect(refused).toContain('connectPorts')
  })
})
