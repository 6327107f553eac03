// `guard.run(fn, { sginal })` was accepted, and the call ran without the signal.
import { describe, expect, it, vi } from 'vitest'
import { guard, type HoldfastError } from '../../src/index.js'
import { rejection } from '../guard/watch.js'

describe('the options of one call', () => {
  it('are rejected with INVALID_OPTIONS that lists every unknown or invalid one, and the function is not called', async () => {
    const fn = vi.fn()
    const options = { sginal: 1, signal: 'stop', timeout: 5, retry: { maxAttempts: 0, retries: 2 } }
    const error = (await rejection(guard().run(fn, options as object))) as HoldfastError
    expect(error.code).toBe('INVALID_OPTIONS')
    expect(error.details).toHaveLength(5)
    expect(error.message).toMatch(
      /sginal.*signal: expected an AbortSignal, got "stop".*timeout.*retry\.maxAttempts.*retry\.retries/,
    )
    expect(fn).not.toHaveBeenCalled()
  })

  it.each([[null], ['signal'], [5], [['signal']]])('are rejected where they are %j', async (options) => {
    const error = await rejection(guard().run(() => 1, options as object))
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('are rejected where they come from a prototype', async () => {
    const error = await rejection(guard().run(() => 1, Object.create({ singal: 1 }) as object))
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('are rejected by a disabled guard as well', async () => {
    const error = await rejection(guard({ enabled: false }).run(() => 1, { contxt: 1 } as object))
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('can be undefined, any context, and a signal that is null', async () => {
    const api = guard()
    const given = [{}, { signal: undefined, context: undefined, retry: undefined }, { context: null }]
    for (const options of [...given, { signal: null as never }, { context: 5, retry: false as const }])
      expect(await api.run(() => 1, options)).toBe(1)
  })
})

it('rejects options that are an array or a function', async () => {
  const api = guard({ retry: false })
  for (const options of [[], () => {}])
    await expect(api.run(async () => 1, options as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
})
