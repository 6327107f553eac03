// A fallbackMethod that does not exist was reported only after a call had failed.
import { describe, expect, it } from 'vitest'
import * as ft from '../../src/decorators/index.js'
import { isHoldfastError } from '../../src/index.js'

const messageOf = (fn: () => unknown): string => {
  try {
    fn()
  } catch (error) {
    if (isHoldfastError(error, 'INVALID_OPTIONS')) return error.message
    throw error
  }
  return ''
}

const missing = (name: string) =>
  `invalid options of @Fallback of ${name}: fallbackMethod: expected a method of Prices, got "nope"`

describe('a fallbackMethod that does not exist', () => {
  it('is rejected when a method is decorated with experimentalDecorators', () => {
    class Prices {
      static async all() {}
      async now() {}
    }
    const decorate = (target: object, key: string, value: () => Promise<void>) =>
      ft.Fallback({ fallbackMethod: 'nope' })(target, key, { value })
    expect(messageOf(() => decorate(Prices.prototype, 'now', Prices.prototype.now))).toBe(
      missing('Prices.now'),
    )
    expect(messageOf(() => decorate(Prices, 'all', Prices.all))).toBe(missing('Prices.all'))
  })

  it('is rejected when the class is defined, for a static method with standard decorators', () => {
    const define = () => {
      class Prices {
        @ft.Fallback({ fallbackMethod: 'nope' })
        static async all(): Promise<void> {}
      }
      return Prices
    }
    // Some compilers give a class another name until it is defined.
    expect(messageOf(define).replaceAll('_Prices', 'Prices')).toBe(missing('Prices.all'))
  })

  it('is rejected when the first instance is created, with standard decorators', () => {
    class Prices {
      @ft.Fallback({ fallbackMethod: 'nope' })
      async now(): Promise<void> {}
    }
    expect(messageOf(() => new Prices())).toBe(missing('Prices.now'))
    expect(messageOf(() => new Prices())).toBe(missing('Prices.now'))
  })
})

describe('a fallbackMethod is found', () => {
  const failing = async (): Promise<string> => {
    throw new RangeError('no')
  }

  it('with experimentalDecorators in the class and its superclass', async () => {
    class Base {
      async inherited(): Promise<string> {
        return 'inherited'
      }
    }
    class Prices extends Base {
      async work(): Promise<string> {
        return failing()
      }
    }
    const { work } = Prices.prototype
    const { value } = ft.Fallback({ fallbackMethod: 'inherited' })(Prices.prototype, 'work', { value: work })
    Prices.prototype.work = value as typeof work
    expect(await new Prices().work()).toBe('inherited')
  })

  it('with standard decorators in the class, its superclass and its subclass', async () => {
    class Base {
      async inherited(): Promise<string> {
        return 'inherited'
      }
    }
    abstract class Prices extends Base {
      @ft.Fallback({ fallbackMethod: 'below' })
      async one(): Promise<string> {
        return failing()
      }

      @ft.Fallback({ fallbackMethod: 'inherited' })
      async two(): Promise<string> {
        return failing()
      }

      @ft.Fallback({ fallbackMethod: 'later' })
      async three(): Promise<string> {
        return failing()
      }

      async below(): Promise<string> {
        return 'below'
      }

      abstract later(): Promise<string>
    }
    class Real extends Prices {
      async later(): Promise<string> {
        return 'later'
      }
    }
    const it = new Real()
    expect([await it.one(), await it.two(), await it.three()]).toEqual(['below', 'inherited', 'later'])
  })
})
