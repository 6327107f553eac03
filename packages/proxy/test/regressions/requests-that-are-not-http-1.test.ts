import { describe, expect, it } from 'vitest'
import { proxyFor, raw } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'

describe('a request that the parser of Node accepts but RFC 9112 does not', () => {
  it.each([
    ['has no version', '', 'Host: a\r\n', 400],
    ['has the version 2.0', ' HTTP/2.0', 'Host: a\r\n', 400],
    ['has a Host that is not valid', ' HTTP/1.1', 'Host: a@b\r\n', 400],
    ['has no Host', ' HTTP/1.1', '', 400],
    ['has an unknown expectation', ' HTTP/1.1', 'Host: a\r\nExpect: nothing\r\n', 417],
  ])('gets one response and does not reach the target if it %s', async (_name, version, fields, status) => {
    const target = await startTarget()
    const proxy = await proxyFor()
    const follow = `GET ${target.url}/two HTTP/1.1\r\nHost: a\r\n\r\n`
    const got = await raw(proxy, `GET ${target.url}/one${version}\r\n${fields}\r\n${follow}`)
    expect(got).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(got).toMatch(/^connection: close\r$/im)
    expect(got.match(/HTTP\/1\.1 /g)).toHaveLength(1)
    expect(target.arrived).toEqual([])
  })
})
