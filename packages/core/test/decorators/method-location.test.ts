// The class that a decorated method belongs to.
import { afterEach, describe, expect, it } from 'vitest'
import * as ft from '../../src/decorators/index.js'
import { setUp } from './setup.js'

const bench = setUp()
const names = () => Object.keys(bench.made)

/** An unrelated decorator. */
function traced<F extends (...args: never[]) => Promise<unknown>>(
  method: F,
  _context: ClassMethodDecoratorContext,
): F {
  return function (this: unknown, ...args: never[]) {
    return method.apply(this, args)
  } as F
}

describe('a decorated method', () => {
  it('can be private, static or both', async () => {
    class SecretStore {
      tries = 0
      static tries = 0

      @ft.Retry({ jitter: 0 })
      async #open(): Promise<string> {
        if (++this.tries < 2) throw new Error('jammed')
        return 'open'
      }

      @ft.Retry({ jitter: 0 })
      static async #close(): Promise<string> {
        if (++this.tries < 2) throw new Error('jammed')
        return 'closed'
      }

      use() {
        return Promise.all([this.#open(), SecretStore.#close()])
      }
    }
    class Safe extends SecretStore {}
    expect(await new Safe().use()).toEqual(['open', 'closed'])
    expect(names()).toEqual(['SecretStore.#open', 'SecretStore.#close'])
  })

  it('belongs to the class that declares it, also when it is called by super', async () => {
    class Base {
      @ft.Retry()
      async load(): Promise<void> {}
    }
    class Derived extends Base {
      @ft.Retry()
      override async load(): Promise<void> {
        await super.load()
      }
    }
    await new Derived().load()
    expect(names()).toEqual(['Derived.load', 'Base.load'])
  })

  it('belongs to its class behind an unrelated decorator', async () => {
    class Base {
      @traced
      @ft.Retry()
      async load(): Promise<void> {}
    }
    class Derived extends Base {
      override async load(): Promise<void> {
        await super.load()
      }
    }
    await new Derived().load()
    expect(names()).toEqual(['Base.load'])
  })

  it('has a guard on each side of an unrelated decorator', async () => {
    class Target {
      calls = 0

      @ft.Retry({ maxRetries: 1, jitter: 0 })
      @traced
      @ft.Retry({ maxRetries: 2, jitter: 0, name: 'inner' })
      async load(): Promise<void> {
        this.calls++
        throw new Error('down')
      }
    }
    const target = new Target()
    await expect(target.load()).rejects.toThrow('down')
    expect(target.calls).toBe(6)
    expect(names()).toEqual(['Target.load', 'inner'])
  })

  it('accepts one decorator of each kind', () => {
    expect(() => {
      class Target {
        @ft.Retry()
        @ft.Timeout()
        @ft.Retry()
        async load(): Promise<void> {}
      }
      return Target
    }).toThrow('invalid options of @Retry of load: expected one @Retry, got a second one')
  })

  it('is named by its method alone while its class is unknown', async () => {
    class Target {
      @ft.CircuitBreaker({ failureThreshold: 1 })
      async load(): Promise<string> {
        return 'loaded'
      }
    }
    const { load } = Target.prototype
    expect(await load.call(undefined as never)).toBe('loaded')
    expect(await load.call(undefined as never)).toBe('loaded')
    expect(names()).toEqual(['load'])
    await new Target().load()
    expect(names()).toEqual(['load', 'Target.load'])
  })

  it('can belong to an anonymous class', async () => {
    class Nameless {
      @ft.Retry()
      async load(): Promise<void> {}
    }
    Object.defineProperty(Nameless, 'name', { value: '' })
    await new Nameless().load()
    expect(names()).toEqual(['load'])
  })

  it('is unchanged when another class decorates it too', async () => {
    class Lender {
      @ft.Retry({ maxRetries: 2, jitter: 0 })
      async load(): Promise<void> {}
    }
    const { load } = Lender.prototype
    await new Lender().load()
    const context = { kind: 'method', name: 'load', static: false, metadata: undefined } as never
    expect(ft.Timeout()(load, context)).not.toBe(load)
  })

  it('rejects anything but a method', () => {
    const field = { kind: 'field', name: 'load', static: false } as never
    expect(() => ft.Retry()(undefined as never, field)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTIONS' }),
    )
    const getter = { get: () => 1, configurable: true } as never
    expect(() => ft.Retry()({}, 'load', getter)).toThrow('expected a method that returns a promise')
    expect(() => ft.Retry()({}, 'load', undefined as never)).toThrow('expected a method')
  })
})

describe('without decorator metadata', () => {
  const decorated = (kind: 'private' | 'public') => {
    const fn = async () => 'loaded'
    const name = kind === 'private' ? '#load' : 'load'
    const context = { kind: 'method', name, static: false, metadata: undefined } as never
    return ft.Retry()(fn, context)
  }

  afterEach(() => ft.configureDecorators())

  it('a private method belongs to the class of its object', async () => {
    class Target {}
    await decorated('private').call(new Target())
    expect(names()).toEqual(['Target.#load'])
  })

  it('a wrapped method belongs to the nearest class with a method of its name', async () => {
    const inner = decorated('public')
    class Base {
      async load(): Promise<string> {
        return inner.call(this)
      }
    }
    class Derived extends Base {}
    await new Derived().load()
    expect(names()).toEqual(['Base.load'])
  })

  it('a method that is not found belongs to no class', async () => {
    await decorated('public').call({})
    expect(names()).toEqual(['load'])
  })
})
