// Compiled as standard decorators here, and as `experimentalDecorators` by types.test.ts.
import * as ft from '../../src/decorators/index.js'

const FALLBACK = Symbol('fallback')

class Good {
  @ft.Retry()
  @ft.CircuitBreaker()
  @ft.Timeout('1s')
  @ft.Bulkhead(3)
  @ft.Fallback({ fallbackMethod: 'other' })
  async load(id: string, depth?: number): Promise<string[]> {
    return [id, `${depth}`]
  }

  @ft.Fallback(async (_error, { args }) => args)
  @ft.Timeout({ value: 5 })
  generic<T extends object>(value: T): Promise<T> {
    return Promise.resolve(value)
  }

  @ft.Retry({
    maxRetries: -1,
    delay: '500ms',
    retryOn: [RangeError, 'timeout', (error) => error instanceof Error],
  })
  static async open(this: void, ...names: string[]): Promise<number> {
    return names.length
  }

  overloaded(id: string): Promise<string>
  overloaded(id: number): Promise<number>
  @ft.Retry()
  async overloaded(id: unknown): Promise<never> {
    throw id
  }

  @ft.Fallback(() => 'small')
  async size(): Promise<'small' | 'large'> {
    return 'large'
  }

  @ft.Fallback({ value: async () => null, skipOn: ['timeout'] })
  async find(id: string): Promise<string | null> {
    return id
  }

  @ft.Fallback(() => {})
  async save(): Promise<void> {}

  @ft.Retry()
  protected async hidden(): Promise<void> {}

  async other(id: string): Promise<string[]> {
    return [id]
  }

  @ft.Fallback({ fallbackMethod: 'secret' })
  async open(): Promise<number> {
    return 1
  }

  private async secret(): Promise<number> {
    return 0
  }

  @ft.Fallback({ fallbackMethod: 'inferred' })
  async inferring() {
    return this.inferred()
  }

  inferred() {
    return ['none']
  }

  @ft.Fallback({ fallbackMethod: FALLBACK })
  @ft.Fallback({ fallbackMethod: 'of a variable' as string })
  async named(): Promise<number> {
    return this.secret()
  }

  async [FALLBACK](): Promise<number> {
    return 0
  }
}

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** The types are the same as without decorators. */
export const unchanged: [
  Equal<Good['load'], (id: string, depth?: number) => Promise<string[]>>,
  Equal<Good['generic'], <T extends object>(value: T) => Promise<T>>,
  Equal<typeof Good.open, (this: void, ...names: string[]) => Promise<number>>,
  Equal<Good['load'], (id: string) => Promise<string[]>>,
] = [true, true, true, false]

class Bad {
  // @ts-expect-error -- it does not return a promise
  @ft.Retry()
  now(): number {
    return 1
  }

  // @ts-expect-error -- it does not return a promise either
  @ft.Timeout(5)
  maybe(): Promise<number> | number {
    return 1
  }

  // @ts-expect-error -- a getter is not a method
  @ft.Retry()
  get later(): Promise<number> {
    return Promise.resolve(1)
  }

  // @ts-expect-error -- the fallback returns another type than the method
  @ft.Fallback(() => 'none')
  async count(): Promise<number> {
    return 1
  }

  // @ts-expect-error -- the same in settings and as a promise
  @ft.Fallback({ value: async () => ['none'] })
  async sizes(): Promise<number[]> {
    return [1]
  }

  // @ts-expect-error -- the fallback method returns another type than the method
  @ft.Fallback({ fallbackMethod: 'names' })
  async numbers(): Promise<number[]> {
    return [1]
  }

  async names(): Promise<string[]> {
    return ['none']
  }

  // @ts-expect-error -- the same for static methods
  @ft.Fallback({ fallbackMethod: 'title' })
  static async total(): Promise<number> {
    return 1
  }

  static title(): string {
    return 'none'
  }

  // @ts-expect-error -- a field is not a method
  @ft.Retry()
  field = async () => 1
}
void Bad

// @ts-expect-error -- a fallback requires a function or a method
ft.Fallback()
// @ts-expect-error -- an unknown setting
ft.Retry({ maxAttempts: 3 })
// @ts-expect-error -- a duration string requires a unit
ft.Timeout('5')
// @ts-expect-error -- an unknown option
ft.configureDecorators({ override: {} })
