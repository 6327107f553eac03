// `require` and `import` load two copies, and objects of one were not instances of the classes of the other.
import { expect, it, vi } from 'vitest'

it('objects of another copy are instances of the public classes', async () => {
  const load = () => {
    vi.resetModules()
    return import('../../src/index.js')
  }
  const mine = await load()
  const { upstreamOf } = await import('../../src/members/member.js')
  const other = await load()
  const names = ['ProxyUpstream', 'ProxyConnectionError', 'PrivateTargetError', 'TargetPolicy'] as const
  const classesOf = (value: object) => names.filter((name) => value instanceof mine[name])
  for (const { ProxyUpstream, ProxyConnectionError, PrivateTargetError, TargetPolicy } of [mine, other]) {
    expect(classesOf(new ProxyUpstream('http://p1:8080'))).toEqual(['ProxyUpstream'])
    expect(classesOf(new ProxyConnectionError('down'))).toEqual(['ProxyConnectionError'])
    expect(classesOf(new PrivateTargetError('private'))).toEqual(['PrivateTargetError'])
    expect(classesOf(new TargetPolicy())).toEqual(['TargetPolicy'])
  }
  expect(classesOf(new TypeError('another'))).toEqual([])
  const upstream = new other.ProxyUpstream('http://p1:8080')
  expect(upstreamOf(upstream)).toBe(upstream)
})
