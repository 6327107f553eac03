import { expectTypeOf } from 'vitest'
import { type Attempt, type Duration, type Guard, guard, type Session, sessionOf } from '../../src/index.js'

declare const api: Guard

// run gives what the function comes to.
expectTypeOf(api.run(() => 5)).toEqualTypeOf<Promise<number>>()
expectTypeOf(api.run(async () => 'text')).toEqualTypeOf<Promise<string>>()
expectTypeOf(api.run(() => {})).toEqualTypeOf<Promise<void>>()
expectTypeOf(api.run((): PromiseLike<boolean> => Promise.resolve(true))).toEqualTypeOf<Promise<boolean>>()
expectTypeOf(api.run((): number | Promise<number> => 5)).toEqualTypeOf<Promise<number>>()
expectTypeOf(api.run(() => Promise.reject(new Error('down')))).toEqualTypeOf<Promise<never>>()
expectTypeOf(api.run<5 | 6>(() => 5)).toEqualTypeOf<Promise<5 | 6>>()

// run hands the function one attempt.
void api.run((attempt) => {
  expectTypeOf(attempt).toEqualTypeOf<Attempt>()
  expectTypeOf(attempt.number).toEqualTypeOf<number>()
  expectTypeOf(attempt.signal).toEqualTypeOf<AbortSignal>()
  attempt.note({ host: 'a' })
  // @ts-expect-error a note is an object
  attempt.note('a')
  // @ts-expect-error an attempt is not to be changed
  attempt.number = 2
})
// @ts-expect-error a function of two parameters would get one
void api.run((attempt: Attempt, more: number) => [attempt, more])
// @ts-expect-error it takes a function
void api.run(Promise.resolve(5))

// A call has options of its own.
void api.run(() => 5, {})
void api.run(() => 5, { signal: undefined, context: undefined, retry: undefined })
void api.run(() => 5, { signal: new AbortController().signal, context: { tenant: 'a' }, retry: false })
void api.run(() => 5, { retry: { maxAttempts: 2, baseDelay: '1s' } })
// @ts-expect-error true is not a way of retrying
void api.run(() => 5, { retry: true })
// @ts-expect-error there is no such option
void api.run(() => 5, { timeout: 5 })

// wrap keeps parameters, and makes a promise of the result.
expectTypeOf(api.wrap((a: number, b?: string) => `${a}${b}`)).toEqualTypeOf<
  (this: unknown, a: number, b?: string) => Promise<string>
>()
expectTypeOf(api.wrap(async (a: number) => a)).parameters.toEqualTypeOf<[a: number]>()
expectTypeOf(api.wrap(async (a: number) => a)).returns.toEqualTypeOf<Promise<number>>()
expectTypeOf(api.wrap((...rest: [string, ...number[]]) => rest)).parameters.toEqualTypeOf<
  [string, ...number[]]
>()
expectTypeOf(api.wrap((): PromiseLike<5> => Promise.resolve(5))).returns.toEqualTypeOf<Promise<5>>()
expectTypeOf(api.wrap(() => {})).returns.toEqualTypeOf<Promise<void>>()
const twice = api.wrap((n: number) => n * 2)
// @ts-expect-error the argument is missing
void twice()
// @ts-expect-error the argument is of another type
void twice('2')

// wrap keeps `this`.
interface Account {
  balance: number
}
const read = api.wrap(function (this: Account, add: number) {
  return this.balance + add
})
expectTypeOf(read).thisParameter.toEqualTypeOf<Account>()
const account = { balance: 1, read }
expectTypeOf(account.read(2)).toEqualTypeOf<Promise<number>>()
// @ts-expect-error there is no account to read
void read(2)
// @ts-expect-error this is no account
void read.call({ total: 5 }, 2)

// wrap keeps a function generic.
const first = api.wrap(<T>(list: readonly T[]) => list[0])
expectTypeOf(first([1, 2])).resolves.toEqualTypeOf<number | undefined>()
expectTypeOf(first(['a'])).resolves.toEqualTypeOf<string | undefined>()

// Durations are checked where they are written.
expectTypeOf<500 | '500ms' | '30s' | '1.5m' | '24h' | '30d'>().toExtend<Duration>()
expectTypeOf<number>().toExtend<Duration>()
expectTypeOf<'5'>().not.toExtend<Duration>()
expectTypeOf<'5sec'>().not.toExtend<Duration>()
expectTypeOf<string>().not.toExtend<Duration>()
guard({ timeout: { attempt: '30s', total: 60_000 }, retry: { baseDelay: '200ms', maxDelay: '5s' } })
// @ts-expect-error a week is not a unit
guard({ timeout: { total: '1w' } })
// @ts-expect-error a unit is missing
guard({ retry: { baseDelay: '200' } })
// @ts-expect-error a backoff function gives a duration
guard({ retry: { backoffType: () => 'soon' } })

// Options are checked where they are written.
guard()
guard({ retry: { backoffType: (n, error, previous) => n * previous + (error ? 1 : 0) } })
guard({
  retry: { retryOn: [TypeError, 'timeout', (error) => error === 5], retryIf: ({ value }) => value === 5 },
})
guard({ fallback: (error, { attempt, context }) => [error, attempt, context] })
guard({ classify: (error) => (error instanceof TypeError ? { category: 'transient' } : undefined) })
// @ts-expect-error there is no such option
guard({ retries: 3 })
// @ts-expect-error there is no such backoff
guard({ retry: { backoffType: 'quadratic' } })
// @ts-expect-error there is no such category
guard({ classify: () => ({ category: 'hopeless' }) })

// A listener knows an event by its type.
const off = api.on((event) => {
  switch (event.type) {
    case 'attempt_failed':
      expectTypeOf(event.duration).toEqualTypeOf<number>()
      break
    case 'retry_scheduled':
      expectTypeOf(event.delay).toEqualTypeOf<number>()
      expectTypeOf(event.maxAttempts).toEqualTypeOf<number>()
      break
    case 'succeeded':
      expectTypeOf(event.attempt).toEqualTypeOf<number>()
      break
    case 'gave_up':
      expectTypeOf(event.stopped).toEqualTypeOf<Session['stopped']>()
      break
    case 'breaker_changed':
      expectTypeOf(event.toState).toEqualTypeOf<'closed' | 'open' | 'half_open'>()
      break
    default:
      expectTypeOf(event).toEqualTypeOf<never>()
  }
})
expectTypeOf(off).toEqualTypeOf<() => void>()

expectTypeOf(sessionOf(new Error('down'))).toEqualTypeOf<Session | undefined>()
