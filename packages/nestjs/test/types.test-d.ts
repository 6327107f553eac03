// Compiled, not run.
import { Get } from '@nestjs/common'
import { Resilient } from '../src/index.js'

class Good {
  @Resilient('orders')
  @Get()
  async load(id: string, depth?: number): Promise<string[]> {
    return [id, `${depth}`]
  }

  @Resilient('orders', { timeout: { total: '1s' } })
  save(id: string): Promise<void> {
    return Promise.resolve(void id)
  }

  @Resilient('orders', (id: string) => ({ itemId: id }))
  async first(id: string, signal: AbortSignal): Promise<unknown> {
    return [id, signal]
  }

  @Resilient('orders', (_: string, signal: AbortSignal) => ({ signal }))
  async second(id: string, signal: AbortSignal): Promise<unknown> {
    return [id, signal]
  }

  @Resilient('orders', () => ({}))
  async third<T extends object>(value: T): Promise<T> {
    return value
  }
}

class Bad {
  // @ts-expect-error -- not asynchronous
  @Resilient('orders')
  list(): string[] {
    return []
  }

  // @ts-expect-error -- the method has no number as its first argument
  @Resilient('orders', (id: number) => ({ itemId: `${id}` }))
  async load(id: string): Promise<string> {
    return id
  }

  // @ts-expect-error -- an unknown option
  @Resilient('orders', { attempts: 3 })
  async save(id: string): Promise<string> {
    return id
  }
}

const good = new Good()
export const results: [Promise<string[]>, Promise<void>, Promise<{ id: number }>] = [
  good.load('1'),
  good.save('1'),
  good.third({ id: 1 }),
]
export const bad: Bad = new Bad()
