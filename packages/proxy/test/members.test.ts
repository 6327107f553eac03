import { inspect } from 'node:util'
import { isHoldfastError } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { credentialsOf } from '../src/connect/credentials.js'
import { PROXY_FAULTS, ProxyUpstream, parseProxyList, proxyMember, proxyPool } from '../src/index.js'
import { upstreamOf } from '../src/members/member.js'

const SECRET = 'hunter2'

function problemsOf(fn: () => unknown): readonly string[] {
  try {
    fn()
  } catch (error) {
    if (isHoldfastError(error, 'INVALID_OPTIONS')) return [error.message, ...(error.details ?? [])]
    throw error
  }
  return []
}

describe('ProxyUpstream', () => {
  it.each([
    ['http://p1.example:8080', 'http:', 'p1.example', 8080],
    ['http://p1.example', 'http:', 'p1.example', 80],
    ['https://p1.example', 'https:', 'p1.example', 443],
    ['https://p1.example:80', 'https:', 'p1.example', 80],
    ['socks5://p1.example', 'socks5:', 'p1.example', 1080],
    ['socks5h://p1.example:9', 'socks5:', 'p1.example', 9],
    ['http://[::1]:3128', 'http:', '::1', 3128],
    ['http://p1.example:8080/', 'http:', 'p1.example', 8080],
  ])('parses %s', (url, protocol, hostname, port) => {
    expect(new ProxyUpstream(url)).toMatchObject({ protocol, hostname, port })
  })

  it('decodes the credentials of its url', () => {
    const upstream = new ProxyUpstream('http://us%40er:p%3Aw@p1.example:8080')
    expect(credentialsOf(upstream)).toEqual({ username: 'us@er', password: 'p:w' })
    expect(credentialsOf(new ProxyUpstream('http://p1.example:8080'))).toBeUndefined()
    expect(credentialsOf(new ProxyUpstream('http://100%:w@p1.example'))).toEqual({
      username: '100%',
      password: 'w',
    })
  })

  it('never exposes its credentials in JSON, inspect, text or ids', () => {
    const member = proxyMember(`http://user:${SECRET}@p1.example:8080`, { region: 'eu' })
    void member.value.dispatcher
    const shown = [
      JSON.stringify(member),
      inspect(member, { depth: 10, showHidden: true, getters: true }),
      String(member.value),
      member.id,
      JSON.stringify(Object.entries(member.value)),
      inspect(proxyPool({ id: 'p', members: [member] }).members(), { depth: 10 }),
    ]
    expect(shown.join('\n')).not.toContain(SECRET)
    expect(shown.join('\n')).not.toContain(Buffer.from(`user:${SECRET}`).toString('base64'))
    expect(member.id).toBe('p1.example:8080')
  })

  it.each([
    ['ftp://user:hunter2@p1.example', 'the scheme "ftp:"'],
    ['no url hunter2', 'not a URL'],
    ['http://user:hunter2@p1.example/path', 'got a path'],
    ['http://user:hunter2@p1.example:0', 'got 0'],
    ['', 'not a URL'],
  ])('rejects an invalid url without repeating it: %s', (url, words) => {
    const problems = problemsOf(() => new ProxyUpstream(url)).join('\n')
    expect(problems).toContain(words)
    expect(problems).not.toContain(SECRET)
  })

  it.each([0, -1, 'soon', Infinity])('rejects a connectTimeout of %s', (connectTimeout) => {
    const make = () => new ProxyUpstream('http://p1.example', { connectTimeout: connectTimeout as number })
    expect(problemsOf(make).join('\n')).toContain('connectTimeout')
  })

  it('has default values for its options', () => {
    expect(new ProxyUpstream('http://p1.example').connectTimeout).toBe(10_000)
    expect(PROXY_FAULTS).toEqual([403, 407, 429, 451])
  })
})

describe('proxyMember', () => {
  it('accepts an id and the fields of every member', () => {
    const member = proxyMember('http://p1.example:1', {
      id: 'a',
      weight: 3,
      region: 'eu',
      cost: 2,
      tags: ['x'],
    })
    expect(member).toMatchObject({ id: 'a', weight: 3, region: 'eu', cost: 2, tags: ['x'] })
    expect(member).not.toHaveProperty('tls')
  })

  it('accepts a value with a url, which is converted to a ProxyUpstream once', () => {
    const value = { url: `http://user:${SECRET}@p1.example:8080` }
    expect(upstreamOf(value).host).toBe('p1.example:8080')
    expect(upstreamOf(value)).toBe(upstreamOf(value))
    expect(() => upstreamOf(42)).toThrow('proxyMember')
  })
})

describe('parseProxyList', () => {
  const told = (text: string) =>
    parseProxyList(text).map(({ id, value, weight, region }) => ({
      id,
      url: String(value),
      user: credentialsOf(value)?.username,
      weight,
      region,
    }))

  it('parses lines', () => {
    const text = [
      '# proxies',
      '',
      'http://u:pw@a.example:1 region=eu weight=2',
      '  b.example:2  ',
      'c.example:3:u:pw',
      'socks5://d.example id=dee',
    ].join('\r\n')
    expect(told(text)).toEqual([
      { id: 'a.example:1', url: 'http://a.example:1', user: 'u', weight: 2, region: 'eu' },
      { id: 'b.example:2', url: 'http://b.example:2', user: undefined, weight: undefined, region: undefined },
      { id: 'c.example:3', url: 'http://c.example:3', user: 'u', weight: undefined, region: undefined },
      { id: 'dee', url: 'socks5://d.example:1080', user: undefined, weight: undefined, region: undefined },
    ])
  })

  it('parses JSON', () => {
    const text = JSON.stringify([
      'http://u:pw@a.example:1',
      { url: 'https://b.example:2', weight: 5, region: null },
      { protocol: 'socks5', host: 'c.example', port: 3, username: 'u@', password: 'p:w', region: 'eu' },
    ])
    const expected = [
      { id: 'a.example:1', url: 'http://a.example:1', user: 'u', weight: undefined, region: undefined },
      { id: 'b.example:2', url: 'https://b.example:2', user: undefined, weight: 5, region: undefined },
      { id: 'c.example:3', url: 'socks5://c.example:3', user: 'u@', weight: undefined, region: 'eu' },
    ]
    expect(told(text)).toEqual(expected)
    expect(told(`{ "members": ${text} }`)).toEqual(expected)
    expect(told(`{ "proxies": ${text} }`)).toEqual(expected)
  })

  it('parses CSV with quoted fields', () => {
    const text = ['Host,Port,Username,Password,Region', 'a.example,1,u,"p,""w",eu', 'b.example,2,,,'].join(
      '\n',
    )
    expect(told(text)).toEqual([
      { id: 'a.example:1', url: 'http://a.example:1', user: 'u', weight: undefined, region: 'eu' },
      { id: 'b.example:2', url: 'http://b.example:2', user: undefined, weight: undefined, region: undefined },
    ])
    expect(credentialsOf(parseProxyList(text)[0]?.value as ProxyUpstream)?.password).toBe('p,"w')
    expect(told('url\nhttp://a.example:1')).toHaveLength(1)
  })

  it('accepts an empty list', () => {
    expect(parseProxyList('')).toEqual([])
    expect(parseProxyList('[]')).toEqual([])
  })

  it('numbers repeated ids', () => {
    const text = 'http://u1:a@a.example:1\nhttp://u2:b@a.example:1\nhttp://u3:c@a.example:1'
    expect(told(text).map(({ id }) => id)).toEqual(['a.example:1', 'a.example:1#2', 'a.example:1#3'])
  })

  it('reports every invalid entry by its position without repeating it', () => {
    const text = 'http://a.example:1\nftp://u:hunter2@b.example\nhttp://c.example weight=hunter2\n:hunter2:'
    const problems = problemsOf(() => parseProxyList(text)).join('\n')
    expect(problems).toMatch(/line 2: .*ftp/)
    expect(problems).toMatch(/line 3: expected weight to be a number/)
    expect(problems).toMatch(/line 4/)
    expect(problems).not.toContain(SECRET)
  })

  it.each([
    ['{ "hunter2": ', 'starts like JSON'],
    ['{ "hunter2": 1 }', 'expected a JSON array'],
    ['[{ "prot": "hunter2" }]', 'expected url, or host and port'],
    ['[{ "host": { "hunter2": 1 } }]', 'unknown field'],
    ['[null]', 'entry 1'],
  ])('rejects a text that is not a list: %s', (text, words) => {
    const problems = problemsOf(() => parseProxyList(text)).join('\n')
    expect(problems).toContain(words)
    expect(problems).not.toContain(SECRET)
  })
})
