import { beforeAll, expect, test, vi } from 'vitest'
import * as decorators from '../src/decorators/index.js'
import { StatusError } from '../src/http/index.js'
import * as first from '../src/index.js'

/** The package as a second installation or its CommonJS form loads it: all modules are evaluated again. */
let second: typeof first
let secondHttp: typeof import('../src/http/index.js')
let secondDecorators: typeof decorators

beforeAll(async () => {
  vi.resetModules()
  second = await import('../src/index.js')
  secondHttp = await import('../src/http/index.js')
  secondDecorators = await import('../src/decorators/index.js')
})

const failTwice = (copy: typeof first) =>
  copy
    .guard({ name: 'inner', retry: { maxAttempts: 2, backoffType: 'immediate' } })
    .run(() => {
      throw new Error('down')
    })
    .catch((error: unknown) => error)

test('the second import is another copy', () => {
  expect(second.guard).not.toBe(first.guard)
})

test('a copy returns the session of an error that a guard of another copy threw', async () => {
  expect(second.sessionOf(await failTwice(first))?.attempts).toHaveLength(2)
  expect(first.sessionOf(await failTwice(second))?.attempts).toHaveLength(2)
})

test('the session of a guard lists the sessions of inner guards of another copy', async () => {
  const outer = first.guard({ name: 'outer', retry: { maxAttempts: 1 } })
  const error = await outer
    .run(async () => {
      throw await failTwice(second)
    })
    .catch((thrown: unknown) => thrown)
  expect(first.sessionOf(error)).toMatchObject({ operation: 'outer', inner: [{ operation: 'inner' }] })
})

test('instanceof recognises errors of another copy', () => {
  const error = new second.HoldfastError('CANCELLED', 'stopped')
  expect(error).toBeInstanceOf(first.HoldfastError)
  expect(new Error('stopped')).not.toBeInstanceOf(first.HoldfastError)
})

test('instanceof recognises errors of another copy before the own copy has created one', async () => {
  vi.resetModules()
  const third: typeof first = await import('../src/index.js')
  expect(new second.HoldfastError('CANCELLED', 'stopped')).toBeInstanceOf(third.HoldfastError)
})

test('instanceof of a subclass recognises its own errors only', () => {
  class QuotaError extends first.HoldfastError {}
  expect(new QuotaError('CANCELLED', 'stopped')).toBeInstanceOf(QuotaError)
  expect(new first.HoldfastError('CANCELLED', 'stopped')).not.toBeInstanceOf(QuotaError)
})

test('a guard uses a breaker of another copy, and both copies see its state', async () => {
  const breaker = new second.CircuitBreaker({ id: 'shared', failureThreshold: 1 })
  expect(breaker).toBeInstanceOf(first.CircuitBreaker)
  const call = first.guard({ breaker, retry: false })
  await expect(
    call.run(async () => {
      throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
    }),
  ).rejects.toThrow('reset')
  expect(breaker.state).toBe('open')
  await expect(call.run(async () => 'sent')).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  await expect(second.guard({ breaker }).run(async () => 'sent')).rejects.toMatchObject({
    code: 'CIRCUIT_OPEN',
  })
})

test('stopRetrying of one copy ends the call of a guard of another', async () => {
  let calls = 0
  const call = first.guard({ retry: { maxAttempts: 3, backoffType: 'immediate' } }).run(async () => {
    calls++
    throw second.stopRetrying(new Error('closed'))
  })
  await expect(call).rejects.toThrow('closed')
  expect(calls).toBe(1)
})

test('instanceof recognises budgets and pools of another copy', () => {
  const pool = { id: 'pool', members: [{ id: 'a', value: 1 }] }
  expect(new second.RetryBudget()).toBeInstanceOf(first.RetryBudget)
  expect(new second.Pool(pool)).toBeInstanceOf(first.Pool)
  for (const other of [new second.RetryBudget(), undefined, null, 1, {}])
    expect(other).not.toBeInstanceOf(first.Pool)
  class OwnPool extends first.Pool<number> {}
  expect(new OwnPool(pool)).toBeInstanceOf(OwnPool)
  expect(new first.Pool(pool)).not.toBeInstanceOf(OwnPool)
})

test('instanceof recognises a StatusError of another copy', async () => {
  const answer = async () => new Response(null, { status: 503 })
  const fetch = secondHttp.createFetch({ fetch: answer, retry: false, throwOnStatus: true })
  const error = await fetch('https://api.example').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(StatusError)
  expect(new Error('stopped')).not.toBeInstanceOf(StatusError)
})

test('configureDecorators and currentAttempt apply to the decorated methods of every copy', async () => {
  class Orders {
    calls: unknown[] = []

    @secondDecorators.Retry({ jitter: 0 })
    async load(): Promise<string> {
      this.calls.push(decorators.currentAttempt()?.number)
      throw new Error('down')
    }
  }
  const orders = new Orders()
  decorators.configureDecorators({ overrides: { 'Retry/maxRetries': 1 } })
  await expect(orders.load()).rejects.toThrow('down')
  expect(orders.calls).toEqual([1, 2])
  secondDecorators.configureDecorators({ enabled: false })
  await expect(orders.load()).rejects.toThrow('down')
  expect(orders.calls).toEqual([1, 2, undefined])
  decorators.configureDecorators()
})
