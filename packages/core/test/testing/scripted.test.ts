import { describe, expect, it } from 'vitest'
import { scripted } from '../../src/testing/index.js'

describe('a scripted function', () => {
  it('throws each Error and returns each other value in turn', async () => {
    const down = new Error('down')
    const fn = scripted<unknown>([1, down, 'two', undefined])
    expect(await Promise.allSettled([fn(), fn(), fn(), fn()])).toEqual([
      { status: 'fulfilled', value: 1 },
      { status: 'rejected', reason: down },
      { status: 'fulfilled', value: 'two' },
      { status: 'fulfilled', value: undefined },
    ])
  })

  it('throws the given error object', async () => {
    const down = new TypeError('down')
    await expect(scripted([down])()).rejects.toBe(down)
  })

  it('repeats its last outcome after the end of the list', async () => {
    const fn = scripted([1, 2])
    expect([await fn(), await fn(), await fn(), await fn()]).toEqual([1, 2, 2, 2])
  })

  it('repeats an Error at the end of the list too', async () => {
    const fn = scripted([1, new Error('down')])
    await fn()
    await expect(fn()).rejects.toThrow('down')
    await expect(fn()).rejects.toThrow('down')
  })

  it('returns undefined with an empty list', async () => {
    expect(await scripted([])()).toBeUndefined()
  })

  it('never throws synchronously', async () => {
    const promise = scripted([new Error('down')])()
    await expect(promise).rejects.toThrow('down')
  })

  it('records the number and the arguments of its calls', async () => {
    const fn = scripted(['up'])
    expect([fn.calls, fn.args]).toEqual([0, []])
    await fn('a', 1)
    await fn()
    expect([fn.calls, fn.args]).toEqual([2, [['a', 1], []]])
  })

  it('has a read-only count', () => {
    const fn = scripted(['up'])
    expect(() => {
      ;(fn as { calls: number }).calls = 9
    }).toThrow(TypeError)
  })
})
