import { beforeEach, describe, expect, it } from 'vitest'
import { CallModel } from '../src/invariants/call-model.js'

const LIMITS = { maxAttempts: 3, attemptTimeout: 1000, totalTimeout: 5000 }
const { signal } = new AbortController()

describe('the model of a call with a fallback', () => {
  let model: CallModel
  const attempt = (number: number, failed: boolean) =>
    model.onAttemptEnded(model.onAttemptStarted(number, signal, 0), failed, 1)

  beforeEach(() => {
    model = new CallModel('a call', LIMITS, 0, undefined)
  })

  it('finds a fallback that is called twice, or after a success', () => {
    attempt(1, true)
    model.onFallback()
    expect(() => model.onFallback()).toThrow('calls: a call called its fallback twice')
    model = new CallModel('a call', LIMITS, 0, undefined)
    attempt(1, false)
    expect(() => model.onFallback()).toThrow('a call called its fallback, and attempt 1 had succeeded')
  })

  it('finds an attempt after the fallback', () => {
    attempt(1, true)
    model.onFallback()
    expect(() => attempt(2, true)).toThrow('a call began attempt 2 after its fallback')
  })
})
