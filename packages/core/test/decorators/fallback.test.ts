import { describe, expect, it, onTestFinished } from 'vitest'
import * as ft from '../../src/decorators/index.js'
import { problemsOf, setUp } from './setup.js'

const bench = setUp()

function target(settings: Parameters<typeof ft.Fallback>[0], error: unknown = new Error('down')) {
  class Target {
    name = 'target'
    calls = 0

    @ft.Fallback(settings)
    @ft.Retry({ maxRetries: 2, jitter: 0 })
    async work(_a: number, _b: string): Promise<unknown> {
      this.calls++
      throw error
    }

    async instead(...args: unknown[]): Promise<unknown> {
      return [this.name, ...args]
    }

    broken(): never {
      throw new Error('worse')
    }
  }
  return new Target()
}

describe('@Fallback', () => {
  it('calls another method with the same this and arguments after all retries', async () => {
    const it = target({ fallbackMethod: 'instead' })
    expect(await it.work(1, 'b')).toEqual(['target', 1, 'b'])
    expect(it.calls).toBe(3)
  })

  it('calls a function with the same this, the error, the arguments and the last attempt', async () => {
    const it = target(function (error, { args, attempt }) {
      return [this.name, (error as Error).message, args, attempt]
    })
    expect(await it.work(1, 'b')).toEqual(['target', 'down', [1, 'b'], 3])
  })

  it('handles a thrown value that is not an Error', async () => {
    expect(await target((error) => `instead of ${error}`, 'a word').work(1, 'b')).toBe('instead of a word')
  })

  it('is not called when the method succeeds', async () => {
    class Fine {
      @ft.Fallback(() => 'never')
      async work(): Promise<string> {
        return 'fine'
      }
    }
    expect(await new Fine().work()).toBe('fine')
  })

  it('handles errors in applyOn, but not those in skipOn', async () => {
    const value = () => 'instead'
    expect(await target({ value, applyOn: [Error] }).work(1, 'b')).toBe('instead')
    await expect(target({ value, applyOn: [RangeError] }).work(1, 'b')).rejects.toThrow('down')
    await expect(target({ value, skipOn: [Error] }).work(1, 'b')).rejects.toThrow('down')
    await expect(target({ value, applyOn: [Error], skipOn: ['unknown'] }).work(1, 'b')).rejects.toThrow(
      'down',
    )
  })

  it('throws its own error with the original error as the cause', async () => {
    const error = await target({ fallbackMethod: 'broken' })
      .work(1, 'b')
      .catch((thrown) => thrown)
    expect(error).toMatchObject({ message: 'worse', cause: { message: 'down' } })
  })

  it('reports an override that names a missing method', async () => {
    const it = target({ fallbackMethod: 'instead' })
    ft.configureDecorators({ overrides: { 'Fallback/fallbackMethod': 'missing' } })
    onTestFinished(() => ft.configureDecorators())
    await expect(it.work(1, 'b')).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'Target.work: expected fallbackMethod to name a method, got missing',
      cause: { message: 'down' },
    })
  })

  it('handles rejections by a breaker like failures', async () => {
    class Target {
      @ft.Fallback((error) => (error as { code?: string }).code ?? 'failed')
      @ft.CircuitBreaker({ failureThreshold: 1 })
      async work(): Promise<string> {
        throw new Error('down')
      }
    }
    expect(await new Target().work()).toBe('failed')
    expect(await new Target().work()).toBe('CIRCUIT_OPEN')
  })

  it('cannot name its own method', () => {
    expect(() => {
      class Target {
        @ft.Fallback({ fallbackMethod: 'work' })
        async work(): Promise<void> {}
      }
      return Target
    }).toThrow('a method cannot fall back to itself')
  })

  it('reports all problems of its settings', () => {
    expect(problemsOf(() => ft.Fallback({}))).toHaveLength(1)
    expect(problemsOf(() => ft.Fallback({ fallbackMethod: 'a', value: () => 1 }))).toHaveLength(1)
    expect(problemsOf(() => ft.Fallback({ fallbackMethod: 7 } as never))).toHaveLength(2)
    expect(
      problemsOf(() => ft.Fallback({ value: () => 1, applyOn: ['no name'], skipOn: [7] } as never)),
    ).toHaveLength(2)
  })

  it('can be disabled', async () => {
    bench.configure({ overrides: { 'Fallback/enabled': false } })
    await expect(target(() => 'instead').work(1, 'b')).rejects.toThrow('down')
  })
})
