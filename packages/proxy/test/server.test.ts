import { connect } from 'node:net'
import { isHoldfastError } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { type ProxyOptions, startProxy } from '../src/index.js'
import { PROXY_DEFAULTS, parseProxyOptions } from '../src/server/options.js'
import { ask, proxyFor, raw } from './helpers/clients.js'
import { startTarget } from './helpers/target.js'
import { turn } from './helpers/until.js'

describe('the options of a proxy', () => {
  it('have default values', () => {
    expect(PROXY_DEFAULTS).toEqual({
      resolve: expect.any(Function),
      clock: expect.any(Object),
      policies: {},
      retryNonIdempotent: false,
      host: '127.0.0.1',
      port: 8080,
      users: [],
      allowPrivateTargets: false,
      maxConnections: 10_000,
      idleTimeout: 120_000,
      headTimeout: 10_000,
      connectTimeout: 10_000,
      responseTimeout: 60_000,
      maxHeaderSize: 65_536,
      workers: 1,
    })
    expect(parseProxyOptions({ idleTimeout: '5m' }).idleTimeout).toBe(300_000)
  })

  const problems = (options: object): string => {
    try {
      parseProxyOptions(options as ProxyOptions)
    } catch (error) {
      if (isHoldfastError(error, 'INVALID_OPTIONS')) return error.message
      throw error
    }
    return ''
  }

  it('are checked together, and no error repeats a password', () => {
    const message = problems({
      port: 70_000,
      users: [{ name: 'a:b', password: 'hunter2' }],
      idleTimeout: 'soon',
      maxConnections: 0,
      maxHeaderSize: 1,
      pool: 7,
      guard: 1,
      nothing: 1,
    })
    for (const name of [
      'port',
      'users',
      'idleTimeout',
      'maxConnections',
      'maxHeaderSize',
      'pool',
      'guard',
      'nothing',
    ])
      expect(message).toContain(`${name}:`)
    expect(message).not.toContain('hunter2')
  })

  it.each(['0.0.0.0', '::', '192.168.1.5', 'proxy.example'])(
    'require users to listen on %s',
    async (host) => {
      expect(problems({ host })).toContain('configure users')
      expect(problems({ host, users: [{ name: 'a', password: 'b' }] })).toBe('')
      await expect(startProxy({ host, port: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    },
  )

  it.each(['127.0.0.1', '127.0.0.2', '::1', 'localhost'])('require no users to listen on %s', (host) => {
    expect(problems({ host })).toBe('')
  })
})

describe('a proxy', () => {
  it('reports its url, and rejects a port in use', async () => {
    const proxy = await proxyFor()
    expect(proxy.url).toBe(`http://127.0.0.1:${proxy.port}`)
    await expect(startProxy({ port: proxy.port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })

  it('finishes running requests when it is closed, accepts no new ones, and closes once', async () => {
    let release = (): void => {}
    const target = await startTarget((_request, response) => {
      response.write('first ')
      release = () => response.end('last')
    })
    const proxy = await proxyFor()
    const running = ask(proxy, target.url)
    while (target.arrived.length === 0) await turn()
    const idle = connect(proxy.port, '127.0.0.1')
    await new Promise((resolve) => idle.once('connect', resolve))
    const closing = proxy.close()
    expect(proxy.close()).toBe(closing)
    await expect(ask(proxy, target.url)).rejects.toThrow('ECONNREFUSED')
    release()
    expect((await running).body).toBe('first last')
    idle.destroy()
    await closing
  })

  it('ends running requests and tunnels after the timeout of close', async () => {
    const clock = fakeClock()
    const target = await startTarget(() => {})
    const proxy = await proxyFor({ clock })
    const plain = raw(proxy, `GET ${target.url}/ HTTP/1.1\r\nHost: a\r\n\r\n`)
    const tunnel = raw(
      proxy,
      `CONNECT 127.0.0.1:${target.port} HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n`,
    )
    while (target.arrived.length < 2) await turn()
    const closing = proxy.close({ timeout: '30s' })
    await clock.advance(29_999)
    expect(proxy.status().connections).toBe(2)
    await clock.advance(1)
    await closing
    expect(await plain).toBe('')
    expect(await tunnel).toBe('HTTP/1.1 200 Connection Established\r\n\r\n')
  })

  it('closes a persistent connection after the current response', async () => {
    let release = (): void => {}
    const target = await startTarget((_request, response) => {
      release = () => response.end('done')
    })
    const proxy = await proxyFor()
    const got = raw(proxy, `GET ${target.url}/ HTTP/1.1\r\nHost: a\r\n\r\n`)
    while (target.arrived.length === 0) await turn()
    const closing = proxy.close()
    release()
    expect(await got).toMatch(/connection: close[\s\S]*done/i)
    await closing
  })
})
