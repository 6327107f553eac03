import { describe, expect, it } from 'vitest'
import { attempts, call, calls, createPool, SUCCESS } from './setup.js'

const members = [
  { id: 'us1', value: '', region: 'us' },
  { id: 'eu1', value: '', region: 'eu' },
  { id: 'us2', value: '', region: 'us' },
  { id: 'any', value: '' },
]

const us = { region: 'us' }

describe('the strategy region', () => {
  it('selects the members of the region of the call in turn', () => {
    const { pool } = createPool({ strategy: 'region', members })
    expect(calls(pool, 3, us)).toEqual(['us1', 'us2', 'us1'])
    expect(calls(pool, 2, { region: 'eu' })).toEqual(['eu1', 'eu1'])
    expect(calls(pool, 1, us)).toEqual(['us2'])
  })

  it.each([undefined, null, 'us', {}, { region: 'asia' }, { region: { name: 'us' } }])(
    'gives all of them their turns where the context is %j',
    (context) => {
      const { pool } = createPool({ strategy: 'region', members })
      expect(calls(pool, 5, context)).toEqual(['us1', 'eu1', 'us2', 'any', 'us1'])
    },
  )

  it('selects among all members while none of the region is available', () => {
    const { pool } = createPool({ strategy: 'region', members })
    pool.breaker('us1').trip()
    expect(calls(pool, 2, us)).toEqual(['us2', 'us2'])
    pool.drain('us2')
    expect(calls(pool, 3, us)).toEqual(['eu1', 'any', 'eu1'])
    pool.enable('us2')
    expect(call(pool, SUCCESS, us)).toBe('us2')
  })

  it('selects among all members when the region was tried', () => {
    const { pool } = createPool({ strategy: 'region', members })
    expect(attempts(pool, 5, us)).toEqual(['us1', 'us2', 'eu1', 'any', 'us1'])
  })

  it('excludes only the tried member of the region', () => {
    const { pool } = createPool({ strategy: 'region', members })
    calls(pool, 1, us)
    expect(attempts(pool, 2, us)).toEqual(['us2', 'us1'])
    expect(attempts(pool, 2, { region: 'eu' })).toEqual(['eu1', 'us1'])
  })

  it('accepts a number as region', () => {
    const { pool } = createPool({
      strategy: 'region',
      members: [...members, { id: 'x', value: '', region: '7' }],
    })
    expect(calls(pool, 2, { region: 7 })).toEqual(['x', 'x'])
  })

  it('gives a new member of a region the position that was freed last', () => {
    const { pool } = createPool({ strategy: 'region', members })
    pool.remove('us1')
    pool.remove('eu1')
    pool.add({ id: 'us3', value: '', region: 'us' })
    expect(calls(pool, 3, us)).toEqual(['us3', 'us2', 'us3'])
    expect(calls(pool, 1, { region: 'eu' })).toEqual(['us3'])
    pool.remove('any')
    pool.add({ id: 'nowhere', value: '' })
    expect(calls(pool, 3)).toEqual(['us2', 'nowhere', 'us3'])
  })

  it('selects the members of a large region in turn', () => {
    const many = Array.from({ length: 200 }, (_, i) => ({
      id: `m${i}`,
      value: '',
      region: i % 2 ? 'odd' : 'even',
    }))
    const { pool } = createPool({ strategy: 'region', members: many })
    const odd = many.filter(({ region }) => region === 'odd').map(({ id }) => id)
    expect(calls(pool, 101, { region: 'odd' })).toEqual([...odd, 'm1'])
  })
})
