import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { guard, type Outcome, type RetryOptions, sessionOf } from '../../src/index.js'
import { fakeClock, scripted } from '../../src/testing/index.js'
import { errorWith, rejection } from '../guard/watch.js'

const TRANSIENT = { code: 'ECONNRESET' }
const PERMANENT = { status: 404 }

/** Runs a call that fails with `error` until it stops, and returns the number of calls and the stop reason. */
async function fail(error: unknown, retry: RetryOptions) {
  let calls = 0
  const caught = await rejection(
    guard({ clock: fakeClock(), retry: { maxAttempts: 3, backoffType: 'immediate', ...retry } }).run(() => {
      calls++
      throw error
    }),
  )
  return { calls, same: caught === error, stopped: sessionOf(caught)?.stopped }
}

const SPENT = { calls: 3, same: true, stopped: 'attempts_spent' }
const STOPPED = { calls: 1, same: true, stopped: 'not_retryable' }

describe('without retryOn and abortOn', () => {
  it('a transient error is retried until maxAttempts is reached', async () => {
    expect(await fail(errorWith(TRANSIENT), {})).toEqual(SPENT)
  })

  it('an error of unknown kind is retried', async () => {
    expect(await fail(new Error('who knows'), {})).toEqual(SPENT)
  })

  it('a permanent error ends the call', async () => {
    expect(await fail(errorWith(PERMANENT), {})).toEqual(STOPPED)
  })

  it('a critical error ends the call', async () => {
    expect(await fail(errorWith({ status: 401 }), {})).toEqual(STOPPED)
  })

  it('a programming error ends the call', async () => {
    expect(await fail(new TypeError('x is not a function'), {})).toEqual(STOPPED)
  })

  it('a thrown string ends the call', async () => {
    expect(await fail('down', {})).toMatchObject({ calls: 1, same: true })
  })

  it('maxAttempts includes the first attempt', async () => {
    expect(await fail(errorWith(TRANSIENT), { maxAttempts: 1 })).toEqual({ ...SPENT, calls: 1 })
  })
})

describe('retryOn', () => {
  it('retries errors that it lists, permanent or not', async () => {
    expect(await fail(errorWith(PERMANENT), { retryOn: ['not_found'] })).toEqual(SPENT)
  })

  it('ends the call for errors that it does not list, transient or not', async () => {
    expect(await fail(errorWith(TRANSIENT), { retryOn: ['timeout'] })).toEqual(STOPPED)
  })

  it('retries no error when it is empty', async () => {
    expect(await fail(errorWith(TRANSIENT), { retryOn: [] })).toEqual(STOPPED)
  })

  it('accepts a class', async () => {
    class Flaky extends Error {}
    expect(await fail(new Flaky('down'), { retryOn: [Flaky] })).toEqual(SPENT)
  })

  it('accepts a predicate', async () => {
    expect(await fail('down', { retryOn: [(error) => error === 'down'] })).toMatchObject({ calls: 3 })
  })

  it('matches causes', async () => {
    const error = new Error('wrapped', { cause: errorWith({ code: 'E_MINE' }) })
    expect(await fail(error, { retryOn: ['E_MINE'] })).toEqual(SPENT)
  })
})

describe('abortOn', () => {
  it('ends the call for a transient error', async () => {
    expect(await fail(errorWith(TRANSIENT), { abortOn: ['ECONNRESET'] })).toEqual(STOPPED)
  })

  it('takes precedence over retryOn', async () => {
    const lists = { retryOn: ['ECONNRESET'], abortOn: ['network_error'] }
    expect(await fail(errorWith(TRANSIENT), lists)).toEqual(STOPPED)
  })

  it('takes precedence over retryIf', async () => {
    expect(await fail(errorWith(TRANSIENT), { abortOn: ['transient'], retryIf: () => true })).toEqual(STOPPED)
  })

  it('changes nothing for errors that it does not list', async () => {
    expect(await fail(errorWith(TRANSIENT), { abortOn: ['timeout'] })).toEqual(SPENT)
  })

  it('changes nothing when it is empty', async () => {
    expect(await fail(errorWith(TRANSIENT), { abortOn: [] })).toEqual(SPENT)
  })
})

describe('retryIf on errors', () => {
  it('causes a retry after a permanent error', async () => {
    expect(await fail(errorWith(PERMANENT), { retryIf: ({ error }) => error !== undefined })).toEqual(SPENT)
  })

  it('causes a retry of an error that retryOn does not list', async () => {
    expect(await fail(errorWith(TRANSIENT), { retryOn: [], retryIf: () => true })).toEqual(SPENT)
  })

  it('cannot prevent the retry of a transient error', async () => {
    expect(await fail(errorWith(TRANSIENT), { retryIf: () => false })).toEqual(SPENT)
  })

  it('must return true, not just a truthy value', async () => {
    const retryIf = (() => 'yes') as unknown as () => boolean
    expect(await fail(errorWith(PERMANENT), { retryIf })).toEqual(STOPPED)
  })

  it('gets the error and the number of the attempt, and no value', async () => {
    const seen: Outcome[] = []
    const error = errorWith(PERMANENT)
    await fail(error, { retryIf: (outcome) => seen.push(outcome) < 3 })
    expect(seen).toEqual([
      { error, attempt: 1 },
      { error, attempt: 2 },
      { error, attempt: 3 },
    ])
    expect(seen[0]).not.toHaveProperty('value')
  })
})

describe('a predicate that throws', () => {
  let said: ReturnType<typeof vi.spyOn>
  beforeEach(() => {
    said = vi.spyOn(console, 'error').mockImplementation(() => {})
  })
  afterEach(() => said.mockRestore())

  const bug = new Error('bug in the predicate')
  const broken = () => () => {
    throw bug
  }

  it('matches nothing in retryOn', async () => {
    expect(await fail(errorWith(TRANSIENT), { retryOn: [broken()] })).toEqual(STOPPED)
  })

  it('does not keep the others in the list from matching', async () => {
    expect(await fail(errorWith(TRANSIENT), { retryOn: [broken(), 'ECONNRESET'] })).toEqual(SPENT)
  })

  it('matches nothing in abortOn', async () => {
    expect(await fail(errorWith(TRANSIENT), { abortOn: [broken()] })).toEqual(SPENT)
  })

  it('causes no retry as retryIf', async () => {
    expect(await fail(errorWith(PERMANENT), { retryIf: broken() })).toEqual(STOPPED)
  })

  it.each([
    ['retryOn', (predicate: () => never) => ({ retryOn: [predicate] }), /a predicate in retryOn threw/],
    ['abortOn', (predicate: () => never) => ({ abortOn: [predicate] }), /a predicate in abortOn threw/],
    ['retryIf', (predicate: () => never) => ({ retryIf: predicate }), /retryIf threw/],
  ])('is reported once, although called often: %s', async (_, options, words) => {
    const retry = options(broken())
    await fail(errorWith(TRANSIENT), retry)
    await fail(errorWith(PERMANENT), retry)
    expect(said.mock.calls).toEqual([[expect.stringMatching(words), bug]])
  })
})

describe('the delays of a call', () => {
  const waitsOf = async (retry: RetryOptions, errors: Error[], chance = 0.5) => {
    const clock = fakeClock()
    const api = guard({ clock, random: () => chance, retry: { maxAttempts: errors.length + 1, ...retry } })
    const waits: number[] = []
    api.on((event) => event.type === 'retry_scheduled' && waits.push(event.delay))
    const answer = api.run(scripted<string>([...errors, 'up']))
    await clock.advance(10 * 3_600_000)
    expect(await answer).toBe('up')
    return waits
  }
  const down = new Error('down')
  const limited = (ms: number) => errorWith({ status: 429, headers: { 'retry-after-ms': `${ms}` } })

  it('are numbered from the first retry', async () => {
    expect(await waitsOf({}, [down, down, down, down])).toEqual([1000, 2000, 4000, 8000])
  })

  it('count retries whose delay was a Retry-After', async () => {
    expect(await waitsOf({}, [down, limited(50), down])).toEqual([1000, 50, 4000])
  })

  it('start from base when decorrelated', async () => {
    const retry: RetryOptions = { baseDelay: 100, jitterType: 'decorrelated', jitterAmount: 1 }
    expect(await waitsOf(retry, [down])).toEqual([200])
  })

  it('grow from the actual previous delay when decorrelated', async () => {
    const retry: RetryOptions = { baseDelay: 100, jitterType: 'decorrelated', jitterAmount: 1 }
    expect(await waitsOf(retry, [down, down, down])).toEqual([200, 350, 575])
  })

  it('grow from the capped delay when decorrelated', async () => {
    const retry: RetryOptions = {
      baseDelay: 100,
      maxDelay: 250,
      jitterType: 'decorrelated',
      jitterAmount: 1,
    }
    expect(await waitsOf(retry, [down, down, down], 0.25)).toEqual([150, 187.5, 215.625])
    expect(await waitsOf(retry, [down, down, down], 0.75)).toEqual([250, 250, 250])
  })

  it('grow from a Retry-After when decorrelated', async () => {
    const retry: RetryOptions = { baseDelay: 100, jitterType: 'decorrelated', jitterAmount: 1 }
    expect(await waitsOf(retry, [limited(1000), down])).toEqual([1000, 1550])
  })

  it('are passed to a backoff function: baseDelay first, then each actual delay', async () => {
    const seen: unknown[][] = []
    const backoffType = (...given: [number, unknown, number]) => seen.push(given) * 10
    await waitsOf({ baseDelay: 7, backoffType }, [down, limited(33), down, down])
    expect(seen).toEqual([
      [1, down, 7],
      [3, down, 33],
      [4, down, 20],
    ])
  })
})
