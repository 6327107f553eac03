import { describe, expect, it, vi } from 'vitest'
import { guard, isHoldfastError } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate, never, rejection } from './watch.js'

const quick = () => ({ clock: fakeClock(), retry: { backoffType: 'immediate' } }) as const
const down = () => Promise.reject(new Error('down'))

describe('a fallback', () => {
  it.each([
    ['a plain value', () => 'instead'],
    ['a promise', async () => 'instead'],
  ])('can return %s', async (_, fallback) => {
    expect(await guard({ ...quick(), fallback }).run(down)).toBe('instead')
  })

  it('is not called when the call succeeds', async () => {
    const fallback = vi.fn()
    expect(await guard({ ...quick(), fallback }).run(({ number }) => (number < 3 ? down() : 'up'))).toBe('up')
    expect(fallback).not.toHaveBeenCalled()
  })

  it('is not called when attempts end with an unwanted value', async () => {
    const fallback = vi.fn()
    const retry = { ...quick().retry, retryIf: () => true }
    expect(await guard({ ...quick(), retry, fallback }).run(() => 'meh')).toBe('meh')
    expect(fallback).not.toHaveBeenCalled()
  })

  it('gets the final error, the number of the last attempt and the context', async () => {
    const fallback = vi.fn()
    const context = { tenant: 'a' }
    await guard({ ...quick(), fallback }).run(({ number }) => Promise.reject(new Error(`down ${number}`)), {
      context,
    })
    expect(fallback.mock.calls).toEqual([[new Error('down 3'), { attempt: 3, context }]])
    expect(fallback.mock.calls[0]?.[1].context).toBe(context)
  })

  it('gets attempt 1 after an error that is not retried', async () => {
    const fallback = vi.fn()
    await guard({ ...quick(), fallback }).run(() => Promise.reject('no error'))
    expect(fallback.mock.calls).toEqual([['no error', { attempt: 1, context: undefined }]])
  })

  it('is called after a rejection by the breaker', async () => {
    const fallback = vi.fn((error: unknown) => isHoldfastError(error, 'CIRCUIT_OPEN'))
    const api = guard({ ...quick(), breaker: {}, fallback })
    api.breaker?.trip()
    expect(await api.run(() => false)).toBe(true)
    expect(fallback.mock.calls[0]).toEqual([expect.anything(), { attempt: 1, context: undefined }])
  })

  it('is called after a total timeout', async () => {
    const clock = fakeClock()
    const api = guard({
      clock,
      timeout: { total: 50 },
      fallback: (error) => isHoldfastError(error, 'TOTAL_TIMEOUT'),
    })
    const call = fate(api.run<unknown>(never))
    await clock.advance(50)
    expect(call).toEqual({ state: 'fulfilled', value: true })
  })

  it('is not limited by the timeouts', async () => {
    const clock = fakeClock()
    const api = guard({
      clock,
      timeout: { attempt: 10, total: 20 },
      fallback: () => new Promise((resolve) => clock.setTimer(() => resolve('slow'), 5000)),
    })
    const call = fate(api.run<unknown>(never))
    await clock.advance(6000)
    expect(call).toEqual({ state: 'fulfilled', value: 'slow' })
  })
})

describe('a fallback that throws', () => {
  const original = () => new Error('the original')
  const thrownBy = async (error: unknown, fallback: (error: unknown) => unknown) =>
    rejection(guard({ ...quick(), retry: false, fallback }).run(() => Promise.reject(error)))

  it('rejects the call with its own error, with the original as its cause', async () => {
    const [error, own] = [original(), new Error('own')]
    const fallback = () => {
      throw own
    }
    expect(await thrownBy(error, fallback)).toBe(own)
    expect(own.cause).toBe(error)
  })

  it('can reject instead', async () => {
    const [error, own] = [original(), new Error('own')]
    expect(await thrownBy(error, () => Promise.reject(own))).toBe(own)
    expect(own.cause).toBe(error)
  })

  it('adds a cause that is not enumerable', async () => {
    const own = new Error('own')
    await thrownBy(original(), () => Promise.reject(own))
    expect(Object.getOwnPropertyDescriptor(own, 'cause')?.enumerable).toBe(false)
  })

  it('has the original at the end of the chain where its error already has a cause', async () => {
    const [error, inner] = [original(), new Error('inner')]
    const own = new Error('own', { cause: inner })
    await thrownBy(error, () => Promise.reject(own))
    expect(own.cause).toBe(inner)
    expect(inner.cause).toBe(error)
  })

  it('can set the original as cause itself', async () => {
    const error = new Error('the original', { cause: 'its own' })
    const thrown = await thrownBy(error, (cause) => Promise.reject(new Error('own', { cause })))
    expect((thrown as Error).cause).toBe(error)
    expect(error.cause).toBe('its own')
  })

  it('can throw the original again, which is not changed', async () => {
    const error = original()
    expect(await thrownBy(error, (same) => Promise.reject(same))).toBe(error)
    expect('cause' in error).toBe(false)
  })

  it('can throw an error with circular causes', async () => {
    const own = new Error('own')
    own.cause = new Error('inner', { cause: own })
    expect(await thrownBy(original(), () => Promise.reject(own))).toBe(own)
  })

  it('can throw a frozen error, which is not changed', async () => {
    const own = Object.freeze(new Error('own'))
    expect(await thrownBy(original(), () => Promise.reject(own))).toBe(own)
    expect(own.cause).toBeUndefined()
  })

  it.each([
    ['a string', 'text'],
    ['undefined', undefined],
    ['null', null],
    ['a number', 7],
  ])('can throw %s, which is thrown unchanged', async (_, thrown) => {
    expect(await thrownBy(original(), () => Promise.reject(thrown))).toBe(thrown)
  })

  it('gets the original as cause although that is not an error', async () => {
    const own = new Error('own')
    await thrownBy('text', () => Promise.reject(own))
    expect(own.cause).toBe('text')
  })

  it('can throw one object for every call: the later original becomes its cause, and no earlier one is changed', async () => {
    const own = new Error('unavailable')
    const originals = [original(), original(), original()]
    for (const error of originals) await thrownBy(error, () => Promise.reject(own))
    expect(own.cause).toBe(originals[2])
    expect(originals.map((error) => 'cause' in error)).toEqual([false, false, false])
  })
})
