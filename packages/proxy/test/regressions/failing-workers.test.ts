import type { AddressInfo } from 'node:net'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startProxy } from '../../src/index.js'
import { parseProxyOptions } from '../../src/server/options.js'
import { startWorkers } from '../../src/workers/primary.js'
import { turn, until } from '../helpers/until.js'
import { closedPort } from '../helpers/upstreams.js'
import { workerIds } from '../helpers/worker-ids.js'

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

const MISSING = '/nonexistent/node'

describe('a worker of the proxy that fails', () => {
  it('rejects startProxy with the reason if its program cannot be run, and leaves nothing open', async () => {
    replaceNode().path = MISSING
    const warnings = collectWarnings()
    await expect(startProxy({ port: 0, workers: 2 })).rejects.toThrow(
      /^the proxy worker failed to start: spawn \/nonexistent\/node ENOENT$/,
    )
    await turn()
    expect(workerIds()).toEqual([])
    expect(warnings).toEqual([])
  })

  it('rejects startProxy with its exit code if it exits before it is ready', async () => {
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

  it('is restarted with increasing delays and one warning, and serves once it can start', async () => {
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

  it('is restarted while another one is still starting', async () => {
    const node = replaceNode()
    const original = node.path
    const warnings = collectWarnings()
    const clock = fakeClock()
    const port = await closedPort()
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

  it('does not delay close() if it could not be started', async () => {
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

  it('is killed if it does not exit within the timeout and the grace period of close()', async () => {
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

  it('does not hold connections longer than headTimeout while no worker is ready', async () => {
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
