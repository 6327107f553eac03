import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Chooser } from '../../src/index.js'
import { attempts, call, calls, createPool, SUCCESS } from './setup.js'

afterEach(() => vi.restoreAllMocks())

describe('a strategy function', () => {
  it('selects among the available members, in order, by the context', () => {
    const chooser = vi.fn<Chooser<string>>((candidates, context) => candidates[context as number])
    const { pool } = createPool({ strategy: chooser })
    pool.drain('b')
    expect(call(pool, SUCCESS, 1)).toBe('c')
    expect(chooser.mock.calls[0]?.[0].map(({ id }) => id)).toEqual(['a', 'c'])
  })

  it('does not receive tried members while others are available', () => {
    const chooser = vi.fn<Chooser<string>>((candidates) => candidates.at(-1))
    const { pool } = createPool({ strategy: chooser })
    expect(attempts(pool, 4)).toEqual(['c', 'b', 'a', 'c'])
  })

  it('is not called when no member is available', () => {
    const chooser = vi.fn<Chooser<string>>()
    const { pool } = createPool({ strategy: chooser, members: [] })
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
    ['returns undefined', () => undefined],
    ['returns an unknown member', () => ({ id: 'a', value: '' })],
  ])('that %s is reported once, and the first candidate is selected', (_, chooser) => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { pool } = createPool({ strategy: chooser })
    expect(calls(pool, 3)).toEqual(['a', 'a', 'a'])
    expect(error).toHaveBeenCalledTimes(1)
    expect(error.mock.calls[0]?.[0]).toContain('the strategy of a pool')
  })
})
