// The tests that must pass for every compiler of decorators. Run by standard.test.ts and compilers.test.ts.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as ft from '../../src/decorators/index.js'
import { type FakeClock, fakeClock } from '../../src/testing/index.js'

const sym = Symbol('load')

/** Counts the calls of an object of any class. */
class Counted {
  calls = 0
  failing = 0

  protected async step<T>(value: T): Promise<T> {
    this.calls++
    if (this.calls <= this.failing) throw new Error(`failure ${this.calls}`)
    return value
  }
}

class Base extends Counted {
  static loads = 0

  @ft.Retry({ delay: 100, jitter: 0 })
  async load(a: number, b = 2): Promise<number> {
    return this.step(a + b)
  }

  @ft.Retry({ delay: 100, jitter: 0 })
  static async open(name: string): Promise<string> {
    if (++this.loads < 3) throw new Error('not open')
    return `${name} of ${this.name}`
  }

  @ft.Retry({ jitter: 0 })
  async [sym](): Promise<string> {
    return this.step('by symbol')
  }

  @ft.Retry({ jitter: 0 })
  async overridden(): Promise<string> {
    return this.step('base')
  }

  @ft.CircuitBreaker({ failureThreshold: 2 })
  async shared(): Promise<string> {
    return this.step('shared')
  }
}

class Derived extends Base {
  override async overridden(): Promise<string> {
    return `derived over ${await super.overridden()}`
  }
}

class Decorated extends Base {
  @ft.Retry({ maxRetries: 1, jitter: 0 })
  override async overridden(): Promise<string> {
    return `decorated over ${await super.overridden()}`
  }
}

class Stacked extends Counted {
  @ft.Fallback({ fallbackMethod: 'instead' })
  @ft.Retry({ maxRetries: 2, delay: 10, jitter: 0 })
  @ft.CircuitBreaker({ failureThreshold: 3, delay: 1000 })
  @ft.Timeout(50)
  async one(name: string): Promise<string> {
    return this.step(name)
  }

  @ft.Timeout(50)
  @ft.CircuitBreaker({ failureThreshold: 3, delay: 1000 })
  @ft.Fallback({ fallbackMethod: 'instead' })
  @ft.Retry({ maxRetries: 2, delay: 10, jitter: 0 })
  async other(name: string): Promise<string> {
    return this.step(name)
  }

  async instead(name: string): Promise<string> {
    return `instead of ${name} after ${this.calls}`
  }
}

export function suite(how: string): void {
  describe(`decorated methods, ${how}`, () => {
    let clock: FakeClock

    beforeEach(() => {
      clock = fakeClock()
      ft.configureDecorators({ clock })
    })

    afterEach(() => ft.configureDecorators())

    it('are retried with the same this and the same arguments', async () => {
      const base = new Base()
      base.failing = 2
      const answer = base.load(1)
      await clock.advance(299)
      expect(base.calls).toBe(2)
      await clock.advance(1)
      expect(await answer).toBe(3)
      expect(base.calls).toBe(3)
    })

    it('keep their name and length', () => {
      expect(Base.prototype.load.name).toBe('load')
      expect(Base.prototype.load.length).toBe(1)
      expect(Object.keys(Base.prototype)).toEqual([])
      const { writable, configurable, enumerable } =
        Object.getOwnPropertyDescriptor(Base.prototype, 'load') ?? {}
      expect({ writable, configurable, enumerable }).toEqual({
        writable: true,
        configurable: true,
        enumerable: false,
      })
    })

    it('can be static', async () => {
      Base.loads = 0
      const answer = Base.open('door')
      await clock.advance(300)
      expect(await answer).toBe('door of Base')
    })

    it('can be named by symbols', async () => {
      const base = new Base()
      base.failing = 1
      expect(await base[sym]()).toBe('by symbol')
      expect(base.calls).toBe(2)
    })

    it('are inherited', async () => {
      const derived = new Derived()
      derived.failing = 1
      const answer = derived.load(1, 1)
      await clock.advance(100)
      expect(await answer).toBe(2)
    })

    it('do not apply to an overriding method, except for its call of super', async () => {
      const derived = new Derived()
      derived.failing = 1
      expect(await derived.overridden()).toBe('derived over base')
      expect(derived.calls).toBe(2)
    })

    it('multiply when both methods are decorated', async () => {
      const decorated = new Decorated()
      decorated.failing = 4
      expect(await decorated.overridden()).toBe('decorated over base')
      expect(decorated.calls).toBe(5)
    })

    it('share one breaker over all instances and subclasses', async () => {
      const failing = Object.assign(new Base(), { failing: 9 })
      await expect(failing.shared()).rejects.toThrow('failure 1')
      await expect(Object.assign(new Derived(), { failing: 9 }).shared()).rejects.toThrow('failure 1')
      await expect(new Base().shared()).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
    })

    it.each(['one', 'other'] as const)('mean the same in any order: %s', async (method) => {
      const stacked = new Stacked()
      stacked.failing = 9
      const answer = stacked[method]('x')
      await clock.advance(1000)
      expect(await answer).toBe('instead of x after 3')
      // The three failures opened the breaker, so the fallback is called at once.
      const calm = new Stacked()
      expect(await calm[method]('y')).toBe('instead of y after 0')
    })

    it('use the declaring class in overrides', async () => {
      const once = {
        'Base/load/Retry/maxRetries': 0,
        'Base/[load]/Retry/maxRetries': 0,
        'Base/open/Retry/enabled': false,
      }
      ft.configureDecorators({ clock, overrides: once })
      const derived = Object.assign(new Derived(), { failing: 1 })
      await expect(derived.load(1)).rejects.toThrow('failure 1')
      await expect(Object.assign(new Base(), { failing: 1 })[sym]()).rejects.toThrow('failure 1')
      Base.loads = 0
      await expect(Base.open('door')).rejects.toThrow('not open')
      ft.configureDecorators({ clock, overrides: { 'Derived/load/Retry/maxRetries': 0 } })
      const answer = Object.assign(new Derived(), { failing: 1 }).load(1)
      await clock.advance(100)
      expect(await answer).toBe(3)
    })
  })
}
