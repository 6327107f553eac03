import { beforeEach, describe, expect, it } from 'vitest'
import { CallModel } from '../src/invariants/call-model.js'

const LIMITS = { maxAttempts: 3, attemptTimeout: 1000, totalTimeout: 5000 }
const { signal } = new AbortController()

describe('the model of a call with a fallback', () => {
  let caller: AbortController
  let model: CallModel
  const attempt = (number: number, failed: boolean) =>
    model.onAttemptEnded(model.onAttemptStarted(number, signal, 0), failed, 1)

  beforeEach(() => {
    caller = new AbortController()
    model = new CallModel('a call', LIMITS, 0, caller.signal)
  })

  it('finds a fallback that is called twice', () => {
    attempt(1, true)
    model.onFallback()
    expect(() => model.onFallback()).toThrow('calls: a call called its fallback twice')
  })

  it('finds a fallback after a success, after an abort and after the end of the call', () => {
    attempt(1, false)
    expect(() => model.onFallback()).toThrow('a call called its fallback, and attempt 1 had succeeded')
    model.onSucceeded(model.valueOf(1))
    expect(() => model.onFallback()).toThrow('a call called its fallback after it had settled')
    model = new CallModel('a call', LIMITS, 0, caller.signal)
    caller.abort()
    expect(() => model.onFallback()).toThrow('a call called its fallback after it was aborted')
  })

  it('finds an attempt after the fallback', () => {
    attempt(1, true)
    model.onFallback()
    expect(() => attempt(2, true)).toThrow('a call began attempt 2 after its fallback')
  })

  it('requires the value that the fallback has returned', () => {
    attempt(1, true)
    model.onFallback()
    model.onFallbackEnded({ value: 'served' })
    model.onSucceeded('served')
    expect(() => model.onSucceeded('other')).toThrow(
      'a call returned other, and its fallback returned served',
    )
    expect(() => model.onFailed(new Error('down'))).toThrow(
      'a call failed with Error: down, and its fallback ended with served',
    )
  })

  it('requires the error that the fallback has thrown, unless the call was aborted', () => {
    attempt(1, true)
    model.onFallback()
    expect(() => model.onFailed(new Error('down'))).toThrow('a call failed before the end of its fallback')
    const error = new Error('the fallback')
    model.onFallbackEnded({ error })
    model.onFailed(error)
    expect(() => model.onFailed(new Error('down'))).toThrow(
      'a call failed with Error: down, and its fallback ended with Error: the fallback',
    )
    expect(() => model.onSucceeded('served')).toThrow(
      'a call returned served, and its fallback returned no value',
    )
    caller.abort()
    model.onFailed(new Error('aborted'))
  })
})
