import fc from 'fast-check'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { isPrivateAddress } from '../src/index.js'
import { parseAbsolute, parseAuthority } from '../src/server/target.js'
import { type ResolvedAddress, TargetPolicy } from '../src/targets/target-policy.js'

const PRIVATE = [
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.255',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '192.0.0.170',
  '198.18.0.1',
  '168.63.129.16',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '2001::1',
]
const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '192.0.2.1',
  '9.255.255.255',
  '11.0.0.0',
  '223.255.255.255',
  '2606:4700::1111',
  '2001:4860::8888',
  '64:ff9b::808:808',
  '2002:808:808::1',
  '::ffff:8.8.8.8',
]

describe('isPrivateAddress', () => {
  it.each(PRIVATE)('accepts %s as private', (address) => expect(isPrivateAddress(address)).toBe(true))
  it.each(PUBLIC)('rejects %s as public', (address) => expect(isPrivateAddress(address)).toBe(false))

  it('decides about an IPv4 address inside an IPv6 address as about the IPv4 address', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom('::ffff:', '64:ff9b::', '::ffff:0:'), (v4, prefix) => {
        expect(isPrivateAddress(`${prefix}${v4}`)).toBe(isPrivateAddress(v4))
      }),
    )
    fc.assert(
      fc.property(fc.ipV4(), (v4) => {
        const [a = 0, b = 0, c = 0, d = 0] = v4.split('.').map(Number)
        const sixToFour = `2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::1`
        expect(isPrivateAddress(sixToFour)).toBe(isPrivateAddress(v4))
      }),
    )
  })

  it('agrees with an independent rule for IPv4 addresses', () => {
    const inNetwork = (v4: string): boolean => {
      const [a = 0, b = 0, c = 0] = v4.split('.').map(Number)
      if (v4 === '168.63.129.16') return true
      return (
        a === 0 ||
        a === 10 ||
        a === 127 ||
        a >= 224 ||
        (a === 100 && b >= 64 && b < 128) ||
        (a === 169 && b === 254) ||
        (a === 172 && b >= 16 && b < 32) ||
        (a === 192 && b === 168) ||
        (a === 192 && b === 0 && c === 0) ||
        (a === 198 && (b === 18 || b === 19))
      )
    }
    const near = fc.tuple(
      fc.constantFrom(0, 9, 10, 11, 100, 126, 127, 169, 172, 192, 198, 223, 224),
      fc.nat(255),
      fc.nat(255),
      fc.nat(255),
    )
    fc.assert(
      fc.property(near, (parts) => {
        expect(isPrivateAddress(parts.join('.'))).toBe(inNetwork(parts.join('.')))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a target of a request', () => {
  it.each([
    ['http://2130706433/', '127.0.0.1'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://0177.0.0.1/', '127.0.0.1'],
    ['http://127.1./', '127.0.0.1'],
    ['http://[::ffff:127.0.0.1]/', '[::ffff:7f00:1]'],
    ['http://user:pw@127.0.0.1@127.0.0.2/', '127.0.0.2'],
    ['http://１２７.0.0.1/', '127.0.0.1'],
  ])('has a normalized address: %s', (url, hostname) => {
    expect(parseAbsolute(url)?.target.hostname).toBe(hostname)
  })

  it.each([
    ['http://a.example/x/../y?z=%20#f', '/x/../y?z=%20'],
    ['http://a.example', '/'],
    ['http://a.example?q', '/?q'],
    ['HTTP://A.EXAMPLE:80/', '/'],
  ])('keeps its path unchanged: %s', (url, path) => {
    const parsed = parseAbsolute(url)
    expect(parsed?.path).toBe(path)
    expect(parsed?.target.origin).toBe('http://a.example')
  })

  it.each([
    '/x',
    '*',
    'a.example:80',
    'ftp://a.example/',
    'http://',
    'http:///x',
    'http://a\\@b/',
    'http://a.example/\\x',
    'http://[::1/',
    'http://a:99999/',
  ])('cannot be %s', (url) => expect(parseAbsolute(url)).toBeUndefined())

  it('of a CONNECT request is a host and a port', () => {
    expect(parseAuthority('A.example:443')).toEqual({ hostname: 'a.example', host: 'a.example', port: 443 })
    expect(parseAuthority('[::1]:443')).toEqual({ hostname: '[::1]', host: '::1', port: 443 })
    expect(parseAuthority('2130706433:80')).toEqual({ hostname: '127.0.0.1', host: '127.0.0.1', port: 80 })
    for (const bad of ['a.example', ':443', 'a:0', 'a:65536', 'a:1/x', 'u@a:1', 'http://a:1', 'a b:1', ''])
      expect(parseAuthority(bad)).toBeUndefined()
  })
})

const v4 = (...addresses: string[]): ResolvedAddress[] => addresses.map((address) => ({ address, family: 4 }))

describe('TargetPolicy', () => {
  function targetsOf(answers: Record<string, ResolvedAddress[] | Error>, allowPrivate = false) {
    const clock = fakeClock()
    const asked: string[] = []
    const targets = new TargetPolicy({
      allowPrivate,
      resolve: async (name) => {
        asked.push(name)
        const found = answers[name]
        if (found instanceof Error || found === undefined) throw found ?? new Error('ENOTFOUND')
        return found
      },
      clock,
    })
    return { targets, asked, clock, answers }
  }

  it('allows public addresses, and rejects private ones and local names', () => {
    const { targets, asked } = targetsOf({})
    for (const host of [
      '127.0.0.1',
      '[::1]',
      '[::ffff:7f00:1]',
      '10.0.0.1',
      'localhost',
      'LOCALHOST.',
      'a.localhost',
      'localhost.localdomain',
      'metadata.google.internal',
      'METADATA.google.internal.',
      'metadata.goog',
      'metadata',
      'instance-data.ec2.internal',
    ])
      expect(targets.allows(host)).toBe(false)
    for (const host of ['8.8.8.8', '[2606:4700::1111]']) expect(targets.allows(host)).toBe(true)
    expect(asked).toEqual([])
  })

  it('allows a name only if all of its addresses are public', async () => {
    const { targets } = targetsOf({
      'good.example': v4('8.8.8.8', '1.1.1.1'),
      'mixed.example': v4('8.8.8.8', '10.0.0.1'),
      'mapped.example': [{ address: '::ffff:10.0.0.1', family: 6 }],
    })
    expect(await targets.allows('good.example')).toBe(true)
    expect(await targets.allows('mixed.example')).toBe(false)
    expect(await targets.allows('mapped.example')).toBe(false)
  })

  it('allows a name that cannot be resolved here, because a member may know it', async () => {
    expect(await targetsOf({}).targets.allows('unknown.example')).toBe(true)
  })

  it('allows every target with allowPrivate', () => {
    const { targets, asked } = targetsOf({}, true)
    expect(targets.allows('127.0.0.1')).toBe(true)
    expect(targets.allows('a.example')).toBe(true)
    expect(asked).toEqual([])
  })

  it('resolves a name once in ten seconds', async () => {
    const { targets, asked, clock } = targetsOf({ 'good.example': v4('8.8.8.8') })
    await Promise.all([targets.allows('good.example'), targets.allows('good.example')])
    expect(targets.allows('good.example')).toBe(true)
    expect(asked).toHaveLength(1)
    await clock.advance(10_000)
    await targets.allows('good.example')
    expect(asked).toHaveLength(2)
  })

  it('connects to the address that was checked, and checks it again after ten seconds', async () => {
    const { targets, answers, clock } = targetsOf({ 'turns.example': v4('8.8.8.8') })
    const look = () =>
      new Promise((resolve) =>
        targets.lookup('turns.example', { all: true }, (error, addresses) => resolve(error ?? addresses)),
      )
    expect(await targets.allows('turns.example')).toBe(true)
    answers['turns.example'] = v4('127.0.0.1')
    expect(await look()).toEqual(v4('8.8.8.8'))
    await clock.advance(10_000)
    expect(String(await look())).toContain('private')
  })

  it('evicts the oldest names from its cache', async () => {
    const { targets, asked } = targetsOf(
      Object.fromEntries(Array.from({ length: 10_010 }, (_, i) => [`n${i}.example`, v4('8.8.8.8')])),
    )
    for (let i = 0; i < 10_010; i++) await targets.allows(`n${i}.example`)
    await targets.allows('n0.example')
    await targets.allows('n10009.example')
    expect(asked.filter((name) => name === 'n0.example')).toHaveLength(2)
    expect(asked.filter((name) => name === 'n10009.example')).toHaveLength(1)
  })
})
