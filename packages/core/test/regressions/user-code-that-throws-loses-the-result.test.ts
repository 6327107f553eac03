// A listener, predicate or classifier that threw made the call hang, or replaced its result.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type GuardOptions, guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate } from '../guard/watch.js'

const broken = (): never => {
  throw new Error('bug in what the user gave')
}

let said: ReturnType<typeof vi.spyOn>
beforeEach(() => {
  said = vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterEach(() => said.mockRestore())

describe.each<[string, () => GuardOptions]>([
  ['a listener', () => ({})],
  ['retryIf', () => ({ retry: { retryIf: () => broken() } })],
  ['a predicate in retryOn', () => ({ retry: { retryOn: [() => broken(), 'ECONNRESET'] } })],
  ['a predicate in abortOn', () => ({ retry: { abortOn: [() => broken()] } })],
  ['a backoff function', () => ({ retry: { backoffType: () => broken() } })],
  ['a classifier', () => ({ classify: () => broken() })],
  ['a predicate in failureOn', () => ({ breaker: { failureOn: [() => broken()] } })],
  ['the key function of a breaker', () => ({ breaker: { key: () => broken() } })],
])('%s that throws', (what, options) => {
  const make = (clock = fakeClock()) => {
    const api = guard({ clock, ...options() })
    if (what === 'a listener') api.on(() => broken())
    return { clock, api }
  }
  const reset = () => Object.assign(new Error('reset'), { code: 'ECONNRESET' })

  it('does not lose the value of the call', async () => {
    const { clock, api } = make()
    const call = fate(api.run(({ number }) => (number < 3 ? Promise.reject(reset()) : 'up')))
    await clock.advance(60_000)
    expect(call).toEqual({ state: 'fulfilled', value: 'up' })
  })

  it('does not lose the error of the call', async () => {
    const { clock, api } = make()
    const error = reset()
    const call = fate(api.run(() => Promise.reject(error)))
    await clock.advance(60_000)
    expect(call).toEqual({ state: 'rejected', error })
  })

  it('is reported once for many calls', async () => {
    const { clock, api } = make()
    for (let i = 0; i < 5; i++) fate(api.run(({ number }) => (number < 3 ? Promise.reject(reset()) : 'up')))
    await clock.advance(60_000)
    expect(said).toHaveBeenCalledTimes(1)
  })
})
