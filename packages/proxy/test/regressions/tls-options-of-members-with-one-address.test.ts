import type { AddressInfo } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { proxyMember, proxyPool } from '../../src/index.js'
import { CERT, KEY } from '../helpers/certificate.js'
import { ask, proxyFor } from '../helpers/clients.js'
import { closeWithTest } from '../helpers/target.js'

describe('members of a proxy with workers', () => {
  it('with one address and different TLS options do not share a connection', async () => {
    const names: (string | false | null)[] = []
    const server = createTlsServer({ key: KEY, cert: CERT }, (client) => {
      names.push((client as unknown as { servername: string | false | null }).servername)
      client
        .on('error', () => {})
        .on('data', () => client.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
    })
    closeWithTest(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const members = ['one.example', 'two.example'].map((servername) =>
      proxyMember(url, { id: servername, tls: { servername, rejectUnauthorized: false } }),
    )
    const untrusted = proxyMember(url, { id: 'untrusted' })
    const proxy = await proxyFor({
      workers: 2,
      pool: proxyPool({ id: 'p', members, strategy: 'round_robin' }),
    })
    for (let i = 0; i < 8; i++) expect((await ask(proxy, 'http://a.example/')).status).toBe(200)
    expect(new Set(names)).toEqual(new Set(['one.example', 'two.example']))
    const strict = await proxyFor({ workers: 2, pool: proxyPool({ id: 'q', members: [untrusted] }) })
    expect((await ask(strict, 'http://a.example/')).status).toBe(502)
  })
})
