import type { StopReason } from 'holdfast'
import { fakeClock, seededRandom } from 'holdfast/testing'
import { describe, expect, it, vi } from 'vitest'
import type { CallObserver } from '../../src/observation/call-observer.js'
import { CallObservers } from '../../src/observation/call-observers.js'
import type { ObservedCall } from '../../src/observation/observed-call.js'
import { RejectionLimiter } from '../../src/observation/rejection-limiter.js'
import { refused, start } from '../holdfast/setup.js'

const CONFIG = {
  policies: { send: { maxAttempts: 2, backoffType: 'immediate', deadLetter: true } },
} as const

describe('the effects of a call that fails', () => {
  it('occur in the order error record, session, event, log line, guard event, dead letter, error of the caller', async () => {
    const effects: string[] = []
    const log = (_: object, message: string) => void effects.push(`log: ${message.split(' ')[1]}`)
    const { hf } = await start(CONFIG, { logger: { debug: log, info: log, warn: log, error: log } })
    const { runtime, errors } = (
      hf as unknown as {
        container: {
          runtime: { emit(event: { eventType: string }): unknown; sessions: { add(record: object): void } }
          errors: { recordFailure(attempt: { willRetry: boolean }): unknown }
        }
      }
    ).container
    const emit = runtime.emit.bind(runtime)
    vi.spyOn(runtime, 'emit').mockImplementation((event) => {
      effects.push(`event: ${event.eventType}`)
      return emit(event)
    })
    const recordFailure = errors.recordFailure.bind(errors)
    vi.spyOn(errors, 'recordFailure').mockImplementation((attempt) => {
      effects.push(`error record: ${attempt.willRetry ? 'retried' : 'final'}`)
      return recordFailure(attempt)
    })
    const addSession = runtime.sessions.add.bind(runtime.sessions)
    vi.spyOn(runtime.sessions, 'add').mockImplementation((record) => {
      effects.push('session')
      addSession(record)
    })
    const addDeadLetters = hf.store.deadLetters.add.bind(hf.store.deadLetters)
    vi.spyOn(hf.store.deadLetters, 'add').mockImplementation(async (...args) => {
      const added = await addDeadLetters(...args)
      effects.push('dead letter')
      return added
    })
    const guard = hf.guard('send', { payload: { to: 'a' } })
    guard.on(({ type }) => void effects.push(`guard event: ${type}`))

    await guard.run(() => Promise.reject(refused())).catch(() => effects.push('error of the caller'))

    expect(effects).toEqual([
      'guard event: attempt_failed',
      'error record: retried',
      'event: retry_attempt',
      'log: attempt',
      'guard event: retry_scheduled',
      'guard event: attempt_failed',
      'error record: final',
      'session',
      'event: retry_failure',
      'log: exhausted',
      'guard event: gave_up',
      'dead letter',
      'event: dead_letter_enqueued',
      'error of the caller',
    ])
  })

  it('include a dead letter, which is stored before the caller gets the error', async () => {
    const { hf } = await start(CONFIG)
    const add = hf.store.deadLetters.add.bind(hf.store.deadLetters)
    let allowStoring = () => {}
    const storingAllowed = new Promise<void>((resolve) => {
      allowStoring = resolve
    })
    const storingStarted = new Promise<void>((resolve) => {
      vi.spyOn(hf.store.deadLetters, 'add').mockImplementation(async (...args) => {
        resolve()
        await storingAllowed
        return add(...args)
      })
    })
    let hasRejected = false
    const call = hf
      .run('send', () => Promise.reject(refused()), { payload: 1 })
      .catch(() => {
        hasRejected = true
      })

    await storingStarted
    await new Promise((resolve) => setImmediate(resolve))
    expect(hasRejected).toBe(false)

    allowStoring()
    await call
    expect(hasRejected).toBe(true)
    expect((await hf.deadLetters.stats()).total).toBe(1)
  })
})

describe('CallObservers', () => {
  function setup(observers: readonly CallObserver[]) {
    const onObserverError = vi.fn()
    const parts = {
      rejectionLimiter: new RejectionLimiter(fakeClock(), () => {}),
      clock: fakeClock(),
      random: seededRandom(7),
      formatter: {
        summarizeError: (error: unknown) => ({ type: 'Error', message: String(error) }),
        redact: <T>(value: T) => value,
        keepsResults: false,
      },
      onObserverError,
    }
    const call = {
      operation: { name: 'send', subsystem: undefined, metrics: {} },
      effectivePolicy: { record: { id: 'default' } },
      history: [],
      number: 1,
      draft: undefined,
      pending: undefined,
      takeShadowDecision: () => undefined,
    } as unknown as ObservedCall
    const calls = new CallObservers(parts, observers)
    calls.active.add(call)
    const end = (stopped: StopReason, result: unknown) => calls.onEnd(call, stopped, result)
    return { calls, call, end, onObserverError }
  }

  it('notifies the other observers when one of them throws, and reports its error', () => {
    const seen: string[] = []
    const broken = new Error('broken observer')
    const { calls, call, end, onObserverError } = setup([
      {
        onAttemptFailed() {
          throw broken
        },
        onEnd() {
          throw broken
        },
      },
      {
        onAttemptFailed: (_, { summary }) => void seen.push(`failed: ${summary.message}`),
        onEnd: (_, { stopped }) => void seen.push(`ended: ${stopped}`),
      },
    ])
    calls.onAttemptFailed(call, true, 'no', undefined)
    end('attempts_spent', 'no')
    expect(seen).toEqual(['failed: no', 'ended: attempts_spent'])
    expect(onObserverError.mock.calls).toEqual([[broken], [broken]])
  })

  it('calls beforeRejection after every onEnd, and returns its promise', async () => {
    const seen: string[] = []
    const stored = Promise.resolve()
    const { end } = setup([
      {
        beforeRejection: () => {
          seen.push('beforeRejection')
          return stored
        },
      },
      { onEnd: () => void seen.push('onEnd') },
    ])
    expect(end('attempts_spent', new Error('no'))).toBe(stored)
    expect(seen).toEqual(['onEnd', 'beforeRejection'])
  })

  it('does not call beforeRejection for a call that succeeded after a retry', () => {
    const beforeRejection = vi.fn()
    const { calls, call, end } = setup([{ beforeRejection }])
    calls.onAttemptFailed(call, true, 'no', undefined)
    expect(end('succeeded', 1)).toBeUndefined()
    expect(beforeRejection).not.toHaveBeenCalled()
  })

  it('creates no draft for a call that succeeds with its first attempt', () => {
    const onFirstAttemptSuccess = vi.fn()
    const onSuccess = vi.fn()
    const onEnd = vi.fn()
    const { calls, call, end } = setup([{ onFirstAttemptSuccess, onSuccess, onEnd }])
    end('succeeded', 1)
    expect(onFirstAttemptSuccess).toHaveBeenCalledOnce()
    expect(onSuccess).toHaveBeenCalledOnce()
    expect(onEnd).not.toHaveBeenCalled()
    expect(call.draft).toBeUndefined()
    expect(calls.active.count).toBe(0)
  })
})
