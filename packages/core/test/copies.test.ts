import { beforeAll, expect, test, vi } from 'vitest'
import * as first from '../src/index.js'

/** The package as a second installation or its CommonJS form loads it: all modules are evaluated again. */
let second: typeof first

beforeAll(async () => {
  vi.resetModules()
  second = await import('../src/index.js')
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
