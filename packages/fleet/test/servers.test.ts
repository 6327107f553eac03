import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecureContext, TLSSocket } from 'node:tls'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { freePort, missing, QUIET, RealRedis, until } from './redis.js'
import { afterwards, countEvents, DRIVER_WITH_TIMEOUTS, fail, node } from './setup.js'

/** A node expires after three intervals, which no stall of a busy machine reaches. */
const OPTIONS = { heartbeat: 60_000 }

const folder = () => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-redis-'))
  afterwards(async () => rmSync(dir, { recursive: true, force: true }))
  return dir
}

async function start(args: (port: number) => readonly string[]): Promise<RealRedis> {
  const server = await RealRedis.start(args)
  afterwards(() => server.kill())
  return server
}

async function command(port: number, ...words: [string, ...string[]]): Promise<unknown> {
  const client = new Redis(port, '127.0.0.1')
  try {
    return await client.call(...words)
  } finally {
    client.disconnect()
  }
}

/** A breaker on each of two nodes, opened by failures of the first and closed by a reset on the second. */
async function share(url: string, id = 'service:api') {
  const [a, b] = [await node(url, 'a', OPTIONS), await node(url, 'b', OPTIONS)]
  const [mine, other] = [await a.add(id), await b.add(id)]
  fail(mine, 2)
  await until(() => other.state === 'open')
  other.reset()
  await until(() => mine.state === 'closed')
  expect((await a.state.nodes()).map((one) => one.id)).toEqual(['a', 'b'])
  return { a, b, mine, other }
}

const canMakeCertificates = () => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}

/** The bytes of a TLS record that is not valid. */
const BROKEN_RECORD = '\x15\x03\x03\0\x02\x02\x32'

/** Creates files with the key and the certificate of a local server. */
function createCertificate() {
  const dir = folder()
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2']
  execFileSync('openssl', [...request, ...subject, '-keyout', key, '-out', cert], { stdio: 'pipe' })
  return { dir, key, cert }
}

describe.skipIf(!canMakeCertificates())('a TLS connection', () => {
  it.each([
    ['one server', ''],
    ['a cluster and its subscriptions', '&cluster=true'],
    ['a sentinel', '&sentinel=main'],
  ])('is closed at the first broken record: %s', async (_, parameter) => {
    const { key, cert } = createCertificate()
    const secureContext = createSecureContext({ key: readFileSync(key), cert: readFileSync(cert) })
    const open = new Set<Socket>()
    let left = 0
    const server = createServer((raw) => {
      open.add(raw)
      raw.on('error', () => {})
      const secure = new TLSSocket(raw, { isServer: true, secureContext })
      secure.on('error', () => {}).resume()
      secure.once('close', () => {
        open.delete(raw)
        left++
      })
      // Written below TLS. The second error of the client is the end of the connection.
      secure.once('secure', () => setImmediate(() => Socket.prototype.write.call(raw, BROKEN_RECORD)))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    afterwards(async () => {
      server.close()
      for (const raw of open) raw.resetAndDestroy()
    })
    const { port } = server.address() as AddressInfo
    const url = `rediss://127.0.0.1:${port}/0?ca=${encodeURIComponent(cert)}${parameter}`
    const lost = await node(url, 'a', { driver: DRIVER_WITH_TIMEOUTS })
    await until(() => left >= 6)
    await lost.state.close()
    await until(() => open.size === 0)
    expect(countEvents(lost, 'shared_state_lost')).toBe(1)
  })
})

describe.skipIf(missing !== undefined)('a fleet', () => {
  it.skipIf(!canMakeCertificates())(
    'shares state over TLS, only with a server whose certificate is trusted',
    async () => {
      const { dir, key, cert } = createCertificate()
      const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-auth-clients', 'no']
      const { port } = await start((tls) => ['--port', '0', '--tls-port', String(tls), ...files, ...QUIET])
      await share(`rediss://127.0.0.1:${port}/0?ca=${encodeURIComponent(cert)}`)
      const untrusting = await node(`rediss://127.0.0.1:${port}/0`, 'untrusting', {
        driver: DRIVER_WITH_TIMEOUTS,
      })
      expect(countEvents(untrusting, 'shared_state_lost')).toBe(1)
      await expect(node(`rediss://127.0.0.1:${port}/0?ca=${dir}/none.pem`, 'c')).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining('none.pem'),
      })
    },
  )

  it('shares state through a cluster, in whichever slot the keys are', async () => {
    const dir = folder()
    const bus = [await freePort(), await freePort()]
    const servers: RealRedis[] = []
    for (const [i, port] of bus.entries()) {
      const clustered = ['--cluster-enabled', 'yes', '--cluster-port', String(port), '--dir', dir]
      const file = ['--cluster-config-file', `nodes-${i}.conf`]
      servers.push(await start((own) => ['--port', String(own), ...clustered, ...file, ...QUIET]))
    }
    const [one, two] = servers.map(({ port }) => port) as [number, number]
    await command(one, 'CLUSTER', 'ADDSLOTSRANGE', '0', '8191')
    await command(two, 'CLUSTER', 'ADDSLOTSRANGE', '8192', '16383')
    await command(two, 'CLUSTER', 'SET-CONFIG-EPOCH', '2')
    await command(one, 'CLUSTER', 'MEET', '127.0.0.1', String(two), String(bus[1]))
    const isReady = async (port: number) => {
      const info = String(await command(port, 'CLUSTER', 'INFO'))
      return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:2')
    }
    await until(async () => (await isReady(one)) && (await isReady(two)))
    const url = `redis://127.0.0.1:${one}?cluster=true&node=127.0.0.1:${two}`
    const { a, b } = await share(url)
    // Breakers on both servers, so that messages of each server are received by all nodes.
    for (let i = 0; i < 8; i++) {
      const [mine, other] = [await a.add(`service:${i}`), await b.add(`service:${i}`)]
      fail(mine, 2)
      await until(() => other.state === 'open')
    }
    for (const port of [one, two]) expect(await command(port, 'DBSIZE')).toBeGreaterThan(1)
  })

  it('shares state through the master that Sentinel names, and through the next one after a failover', async () => {
    const dir = folder()
    const master = await start((port) => ['--port', String(port), ...QUIET])
    const from = ['--replicaof', '127.0.0.1', String(master.port), '--repl-diskless-sync-delay', '0']
    const replica = await start((port) => ['--port', String(port), ...from, ...QUIET])
    await until(async () => String(await command(replica.port, 'INFO')).includes('master_link_status:up'))
    const sentinel = await start((port) => {
      const lines = [
        `port ${port}`,
        'bind 127.0.0.1',
        `sentinel monitor mymaster 127.0.0.1 ${master.port} 1`,
        'sentinel down-after-milliseconds mymaster 200',
        'sentinel failover-timeout mymaster 2000',
      ]
      writeFileSync(join(dir, `${port}.conf`), lines.join('\n'))
      return [join(dir, `${port}.conf`), '--sentinel']
    })
    const known = async () => String(await command(sentinel.port, 'SENTINEL', 'REPLICAS', 'mymaster'))
    await until(async () => (await known()).includes(String(replica.port)))
    const { a, b, mine, other } = await share(`redis://127.0.0.1:${sentinel.port}/0?sentinel=mymaster`)
    await master.kill()
    await until(
      () => countEvents(a, 'shared_state_restored') > 0 && countEvents(b, 'shared_state_restored') > 0,
    )
    fail(mine, 2)
    await until(() => other.state === 'open')
    expect(await command(replica.port, 'DBSIZE')).toBeGreaterThan(1)
  })
})

describe('the url of the shared state', () => {
  it.each([
    ['redis://127.0.0.1:1/x', 'expected a database number'],
    ['redis://127.0.0.1:1/3?cluster=true', 'a cluster has only one'],
    ['redis://127.0.0.1:1?clustr=true', 'unknown parameter clustr'],
    ['redis://127.0.0.1:1?cluster=true&node=a b', 'expected HOST:PORT as node'],
    ['nonsense', 'not a valid url'],
  ])('is rejected if it is %s', async (url, problem) => {
    await expect(node(url, 'a')).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining(problem),
    })
  })
})
