import { describe, expect, it } from 'vitest'
import { proxyPool, TargetPolicy } from '../../src/index.js'
import { ask, proxyFor, raw } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'
import { startChain } from '../helpers/upstreams.js'

/** Resolves `inside.example` to a private address and `outside.example` to a public one, but no name with a final dot. */
const resolve = async (name: string): Promise<{ address: string; family: number }[]> => {
  const address = { 'inside.example': '10.0.0.1', 'outside.example': '93.184.216.34' }[name]
  if (address === undefined) throw new Error(`ENOTFOUND ${name}`)
  return [{ address, family: 4 }]
}

describe('a private target behind a pool', () => {
  it.each([
    'inside.example',
    'inside.example.',
    'inside.example..',
    'INSIDE.example.',
    'inside%2eexample%2e',
    'ｉnside.example.',
    'inside.example%E3%80%82',
    'localhost.',
    'localhost..',
    'LocalHost.',
    'metadata.google.internal..',
    '127.0.0.1.',
    '127.0.0.1..',
    '127.1.',
    '127.1..',
    '0x7f000001..',
    '2130706433..',
    '017700000001.',
    '①②⑦.0.0.1.',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::FFFF:7F00:0001]',
    '[::]',
  ])('is rejected as %s in a request and in CONNECT', async (host) => {
    const upstream = await startChain()
    const pool = proxyPool({ id: 'p', members: [upstream.url] })
    const proxy = await proxyFor({ pool, allowPrivateTargets: false, resolve })
    // The bytes of the URL are sent as they are, without the help of a URL parser.
    for (const line of [`GET http://${host}:80/ HTTP/1.1`, `CONNECT ${host}:80 HTTP/1.1`])
      expect(await raw(proxy, Buffer.from(`${line}\r\nHost: x\r\nConnection: close\r\n\r\n`))).toMatch(
        /^HTTP\/1\.1 40[03] /,
      )
    expect(upstream.asked).toEqual([])
  })

  it.each(['[fe80::1%25eth0]', '[::1%lo]', '[::ffff:127.0.0.1%251]'])(
    'is rejected as %s, with a zone',
    async (host) => {
      const proxy = await proxyFor({ allowPrivateTargets: false, resolve })
      for (const line of [`GET http://${host}:80/ HTTP/1.1`, `CONNECT ${host}:80 HTTP/1.1`])
        expect(await raw(proxy, `${line}\r\nHost: x\r\nConnection: close\r\n\r\n`)).toMatch(
          /^HTTP\/1\.1 40[03] /,
        )
    },
  )
})

describe('a public target with a trailing dot', () => {
  it('is allowed', async () => {
    const policy = new TargetPolicy({ resolve })
    expect(await policy.allows('outside.example.')).toBe(true)
    expect(await policy.allows('unknown.example.')).toBe(true)
    expect(policy.allows('8.8.8.8..')).toBe(true)
  })

  it('is resolved once while its addresses are cached', async () => {
    const names: string[] = []
    const policy = new TargetPolicy({
      resolve: async (name) => {
        names.push(name)
        return [{ address: '8.8.8.8', family: 4 }]
      },
    })
    await policy.allows('a.example.')
    expect(policy.allows('a.example.')).toBe(true)
    expect(names).toEqual(['a.example.', 'a.example'])
  })

  it('is reached if private targets are allowed', async () => {
    const target = await startTarget()
    const got = await ask(await proxyFor(), `http://127.0.0.1.:${target.port}/x`)
    expect(got.body).toBe('GET /x')
  })
})
