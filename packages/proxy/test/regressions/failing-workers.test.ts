import { ChildProcess } from 'node:child_process'
import { type AddressInfo, createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { proxyMember, proxyPool, startProxy } from '../../src/index.js'
import { parseProxyOptions } from '../../src/server/options.js'
import { startWorkers } from '../../src/workers/primary.js'
import { CERT, KEY } from '../kit/certificate.js'
import { ask, proxyFor } from '../kit/clients.js'
import { closeWithTest } from '../kit/target.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn()
}

/** The worker processes of this process. */
const workerIds = (): number[] =>
  (process as unknown as { _getActiveHandles(): unknown[] })
    ._getActiveHandles()
    .filter((handle): handle is ChildProcess => handle instanceof ChildProcess)
    .filter(({ spawnargs, exitCode, signalCode }) => {
      const isRunning = exitCode === null && signalCode === null
      return isRunning && spawnargs.some((arg) => arg.includes('workers/worker'))
    })
    .map(({ pid }) => pid as number)

/** The program that child processes are started with, as long as the test runs. Counts how often it is read. */
function replaceNode(): { path: string; starts: number } {
  const node = { path: process.execPath, starts: 0 }
  const original = Object.getOwnPropertyDescriptor(process, 'execPath') as PropertyDescriptor
  Object.defineProperty(process, 'execPath', {
    configurable: true,
    get: () => {
      node.starts++
      return node.path
    },
  })
  onTestFinished(() => void Object.defineProperty(process, 'execPath', original))
  return node
}

function collectWarnings(): string[] {
  const warnings: string[] = []
  const onWarning = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  return warnings
}

async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const MISSING = '/nonexistent/node'

describe('a worker of the proxy that fails', () => {
  it('rejects startProxy with the reason where its program cannot be run, and leaves nothing behind', async () => {
    replaceNode().path = MISSING
    const warnings = collectWarnings()
    await expect(startProxy({ port: 0, workers: 2 })).rejects.toThrow(
      /^the proxy worker failed to start: spawn \/nonexistent\/node ENOENT$/,
    )
    await turn()
    expect(workerIds()).toEqual([])
    expect(warnings).toEqual([])
  })

  it('rejects startProxy with the exit code where it ends before it is ready', async () => {
    const { NODE_OPTIONS } = process.env
    process.env['NODE_OPTIONS'] = '--require=/nonexistent/module.cjs'
    onTestFinished(() => {
      if (NODE_OPTIONS === undefined) delete process.env['NODE_OPTIONS']
      else process.env['NODE_OPTIONS'] = NODE_OPTIONS
    })
    await expect(startProxy({ port: 0, workers: 2 })).rejects.toThrow(
      /^the proxy worker failed to start: exited with code 1$/,
    )
    expect(workerIds()).toEqual([])
  })

  it('is started again with growing delays and one warning, and serves once it can start', async () => {
    const node = replaceNode()
    const original = node.path
    const warnings = collectWarnings()
    const clock = fakeClock()
    const primary = await startWorkers({ ...parseProxyOptions({ port: 0, workers: 2 }), clock })
    onTestFinished(() => primary.close(1000))
    const { port } = primary.server.address() as AddressInfo
    const [first, second] = workerIds()
    node.path = MISSING
    node.starts = 0
    process.kill(first as number, 'SIGKILL')
    await until(() => warnings.length === 1)
    expect(warnings[0]).toBe(`proxy worker ${first} was killed by SIGKILL; starting a replacement`)
    // Each failure doubles the time to the next start.
    for (const [starts, delay] of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].entries()) {
      await clock.advance(delay - 1)
      expect(node.starts).toBe(starts)
      await clock.advance(1)
      await until(() => node.starts === starts + 1)
      for (let i = 0; i < 20; i++) await turn()
    }
    expect(warnings.slice(1)).toEqual([
      'the proxy worker failed to start: spawn /nonexistent/node ENOENT; retrying with increasing delays',
    ])
    expect(workerIds()).toEqual([second])
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200)
    node.path = original
    await clock.advance(30_000)
    await until(() => workerIds().length === 2)
  })

  it('is started again also while another one is still starting', async () => {
    const node = replaceNode()
    const original = node.path
    const warnings = collectWarnings()
    const clock = fakeClock()
    const port = await findFreePort()
    const starting = startWorkers({ ...parseProxyOptions({ port, workers: 2 }), clock })
    await until(() => workerIds().length === 2)
    const [first, second] = workerIds() as [number, number]
    process.kill(second, 'SIGSTOP')
    // It is answered when the first worker is ready.
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200)
    node.path = MISSING
    process.kill(first, 'SIGKILL')
    await until(() => warnings.length === 1)
    await clock.advance(1000)
    await until(() => warnings.length === 2)
    expect(warnings[1]).toMatch(/failed to start: spawn .* ENOENT; retrying with increasing delays$/)
    process.kill(second, 'SIGCONT')
    const primary = await starting
    onTestFinished(() => primary.close(1000))
    node.path = original
    await clock.advance(2000)
    await until(() => workerIds().length === 2)
  })

  it('does not hold up close() where it could not be started', async () => {
    const node = replaceNode()
    const clock = fakeClock()
    const warnings = collectWarnings()
    const primary = await startWorkers({ ...parseProxyOptions({ port: 0, workers: 2 }), clock })
    node.path = MISSING
    for (const pid of workerIds()) process.kill(pid, 'SIGKILL')
    await until(() => warnings.length === 2)
    await clock.advance(1000)
    await until(() => warnings.length === 3)
    await primary.close(1000)
    expect(workerIds()).toEqual([])
  })

  it('is killed where it does not end within the timeout and the grace period of close()', async () => {
    const clock = fakeClock()
    const primary = await startWorkers({ ...parseProxyOptions({ port: 0, workers: 2 }), clock })
    const [first] = workerIds()
    process.kill(first as number, 'SIGSTOP')
    const closed = primary.close(1000)
    await until(() => workerIds().length === 1)
    await clock.advance(2999)
    expect(workerIds()).toEqual([first])
    await clock.advance(1)
    await closed
    expect(workerIds()).toEqual([])
  })

  it('does not keep connections for ever that came while no worker was ready', async () => {
    const node = replaceNode()
    const clock = fakeClock()
    const warnings = collectWarnings()
    const primary = await startWorkers({
      ...parseProxyOptions({ port: 0, workers: 2, headTimeout: 100 }),
      clock,
    })
    onTestFinished(() => primary.close(1000))
    const { port } = primary.server.address() as AddressInfo
    node.path = MISSING
    for (const pid of workerIds()) process.kill(pid, 'SIGKILL')
    await until(() => warnings.length === 2)
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow('fetch failed')
  })
})

describe('members of a proxy with workers', () => {
  it('share no connection where they have one address but different TLS options', async () => {
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
