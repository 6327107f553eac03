import { describe, expect, it } from 'vitest'
import { type GuardOptions, guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { thenable } from './watch.js'

const PATHS: [string, GuardOptions][] = [
  ['on the quick path', {}],
  ['when watched', { timeout: { total: 5000 } }],
  ['with a listener', {}],
  ['when disabled', { enabled: false }],
]

describe.each(PATHS)('a wrapped function, %s', (path, options) => {
  const make = () => {
    const made = guard({ clock: fakeClock(), retry: { backoffType: 'immediate' }, ...options })
    if (path === 'with a listener') made.on(() => {})
    return made
  }

  it.each([0, 1, 2, 3, 4, 5])('gets the %d arguments it is called with, and no other', async (count) => {
    const args = Array.from({ length: count }, (_, i) => `argument ${i}`)
    const wrapped = make().wrap(function (...given: string[]) {
      return { given, length: arguments.length }
    })
    expect(await wrapped(...args)).toEqual({ given: args, length: count })
  })

  it.each([1, 2, 3, 4])('gets %d arguments that are undefined', async (count) => {
    const wrapped = make().wrap((...given: undefined[]) => given.length)
    expect(await wrapped(...Array.from({ length: count }, () => undefined))).toBe(count)
  })

  it('gets the `this` it is called on', async () => {
    const account = {
      balance: 5,
      read: make().wrap(async function (this: { balance: number }, add: number) {
        return this.balance + add
      }),
    }
    expect(await account.read(2)).toBe(7)
    expect(await account.read.call({ balance: 1 }, 2)).toBe(3)
  })

  it('gets an undefined `this` where it has none', async () => {
    const wrapped = make().wrap(function (this: unknown) {
      return this
    })
    expect(await wrapped.call(undefined)).toBeUndefined()
  })

  it('works as a method of a class', async () => {
    class Store {
      readonly name = 'store'
      load = make().wrap(this.read)
      read(key: string) {
        return `${this.name}/${key}`
      }
    }
    expect(await new Store().load('a')).toBe('store/a')
  })

  it('returns a promise of a plain value', async () => {
    const answer = make().wrap((a: number, b: number) => a + b)(1, 2)
    expect(answer).toBeInstanceOf(Promise)
    expect(await answer).toBe(3)
  })

  it('returns the value of a thenable', async () => {
    const wrapped = make().wrap((value: string) => thenable<string>((resolve) => resolve(value)))
    expect(await wrapped('yes')).toBe('yes')
  })

  it.each([
    ['undefined', undefined],
    ['a string', 'down'],
    ['an error', new TypeError('bug')],
  ])('rejects with an unchanged %s, thrown synchronously or not', async (_, thrown) => {
    const early = make().wrap(() => {
      throw thrown
    })
    const late = make().wrap(() => Promise.reject(thrown))
    expect(await Promise.allSettled([early(), late()])).toEqual([
      { status: 'rejected', reason: thrown },
      { status: 'rejected', reason: thrown },
    ])
  })

  it('can be called many times at once', async () => {
    const wrapped = make().wrap(async (n: number) => n * 2)
    const numbers = Array.from({ length: 100 }, (_, i) => i)
    expect(await Promise.all(numbers.map((n) => wrapped(n)))).toEqual(numbers.map((n) => n * 2))
  })
})

describe.each(PATHS.slice(0, 3))('each attempt of a wrapped function, %s', (path, options) => {
  it.each([0, 1, 2, 3, 4, 5])('gets the same `this` and the same %d arguments', async (count) => {
    const made = guard({ clock: fakeClock(), retry: { backoffType: 'immediate' }, ...options })
    if (path === 'with a listener') made.on(() => {})
    const seen: unknown[] = []
    const self = {}
    const args = Array.from({ length: count }, () => ({}))
    const wrapped = made.wrap(function (this: unknown, ...given: unknown[]) {
      seen.push([this === self, given.length, given.every((value, i) => value === args[i])])
      if (seen.length < 3) throw new Error('down')
      return 'up'
    })
    expect(await wrapped.apply(self, args)).toBe('up')
    expect(seen).toEqual([
      [true, count, true],
      [true, count, true],
      [true, count, true],
    ])
  })

  it('gets the given arguments although an earlier attempt changed its parameters', async () => {
    const made = guard({ clock: fakeClock(), retry: { backoffType: 'immediate' }, ...options })
    const seen: string[] = []
    const wrapped = made.wrap((word: string) => {
      seen.push(word)
      word = 'changed'
      if (seen.length < 2) throw new Error(word)
    })
    await wrapped('given')
    expect(seen).toEqual(['given', 'given'])
  })
})
