import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Chooser } from '../../src/index.js'
import { attempts, call, calls, made, SUCCESS } from './setup.js'

afterEach(() => vi.restoreAllMocks())

describe('a strategy function', () => {
  it('chooses among those that are available, in order, by the context', () => {
    const chooser = vi.fn<Chooser<string>>((candidates, context) => candidates[context as number])
    const { pool } = made({ strategy: chooser })
    pool.drain('b')
    expect(call(pool, SUCCESS, 1)).toBe('c')
    expect(chooser.mock.calls[0]?.[0].map(({ id }) => id)).toEqual(['a', 'c'])
  })

  it('is not shown those that were tried while there are others', () => {
    const chooser = vi.fn<Chooser<string>>((candidates) => candidates.at(-1))
    const { pool } = made({ strategy: chooser })
    expect(attempts(pool, 4)).toEqual(['c', 'b', 'a', 'c'])
  })

  it('is not asked where nobody is available', () => {
    const chooser = vi.fn<Chooser<string>>()
    const { pool } = made({ strategy: chooser, members: [] })
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
    expect(chooser).not.toHaveBeenCalled()
  })

  it.each<[string, Chooser<string>]>([
    [
      'throws',
      () => {
        throw new Error('oh')
      },
    ],
    ['names nobody', () => undefined],
    ['names a stranger', () => ({ id: 'a', value: '' })],
  ])('that %s is reported once, and the first is chosen', (_, chooser) => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { pool } = made({ strategy: chooser })
    expect(calls(pool, 3)).toEqual(['a', 'a', 'a'])
    expect(error).toHaveBeenCalledTimes(1)
    expect(error.mock.calls[0]?.[0]).toContain('the strategy of a pool')
  })
})
