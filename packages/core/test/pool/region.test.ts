import { describe, expect, it } from 'vitest'
import { attempts, call, calls, made, SUCCESS } from './setup.js'

const members = [
  { id: 'us1', value: '', region: 'us' },
  { id: 'eu1', value: '', region: 'eu' },
  { id: 'us2', value: '', region: 'us' },
  { id: 'any', value: '' },
]

const us = { region: 'us' }

describe('region', () => {
  it("gives the members of the call's region their turns", () => {
    const { pool } = made({ strategy: 'region', members })
    expect(calls(pool, 3, us)).toEqual(['us1', 'us2', 'us1'])
    expect(calls(pool, 2, { region: 'eu' })).toEqual(['eu1', 'eu1'])
    expect(calls(pool, 1, us)).toEqual(['us2'])
  })

  it.each([undefined, null, 'us', {}, { region: 'asia' }, { region: { name: 'us' } }])(
    'gives all of them their turns where the context is %j',
    (context) => {
      const { pool } = made({ strategy: 'region', members })
      expect(calls(pool, 5, context)).toEqual(['us1', 'eu1', 'us2', 'any', 'us1'])
    },
  )

  it('falls back to all while nobody of the region is available', () => {
    const { pool } = made({ strategy: 'region', members })
    pool.breaker('us1').trip()
    expect(calls(pool, 2, us)).toEqual(['us2', 'us2'])
    pool.drain('us2')
    expect(calls(pool, 3, us)).toEqual(['eu1', 'any', 'eu1'])
    pool.enable('us2')
    expect(call(pool, SUCCESS, us)).toBe('us2')
  })

  it('falls back to all when the region was tried', () => {
    const { pool } = made({ strategy: 'region', members })
    expect(attempts(pool, 5, us)).toEqual(['us1', 'us2', 'eu1', 'any', 'us1'])
  })

  it('avoids a tried one of its region and no other', () => {
    const { pool } = made({ strategy: 'region', members })
    calls(pool, 1, us)
    expect(attempts(pool, 2, us)).toEqual(['us2', 'us1'])
    expect(attempts(pool, 2, { region: 'eu' })).toEqual(['eu1', 'us1'])
  })

  it('reads a region that is a number', () => {
    const { pool } = made({ strategy: 'region', members: [...members, { id: 'x', value: '', region: '7' }] })
    expect(calls(pool, 2, { region: 7 })).toEqual(['x', 'x'])
  })

  it('gives a new member of a region the place of the one that left it last', () => {
    const { pool } = made({ strategy: 'region', members })
    pool.remove('us1')
    pool.remove('eu1')
    pool.add({ id: 'us3', value: '', region: 'us' })
    expect(calls(pool, 3, us)).toEqual(['us3', 'us2', 'us3'])
    expect(calls(pool, 1, { region: 'eu' })).toEqual(['us3'])
    pool.remove('any')
    pool.add({ id: 'nowhere', value: '' })
    expect(calls(pool, 3)).toEqual(['us2', 'nowhere', 'us3'])
  })

  it('keeps the turns of a big region', () => {
    const many = Array.from({ length: 200 }, (_, i) => ({
      id: `m${i}`,
      value: '',
      region: i % 2 ? 'odd' : 'even',
    }))
    const { pool } = made({ strategy: 'region', members: many })
    const odd = many.filter(({ region }) => region === 'odd').map(({ id }) => id)
    expect(calls(pool, 101, { region: 'odd' })).toEqual([...odd, 'm1'])
  })
})
