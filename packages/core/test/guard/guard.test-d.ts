import { expectTypeOf } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import {
  type Attempt,
  type Duration,
  type Executed,
  type Guard,
  type GuardOptions,
  guard,
  type HoldfastError,
  isHoldfastError,
  Pool,
  type Session,
  sessionOf,
} from '../../src/index.js'
import { openai } from '../../src/presets/index.js'
import { type TransactionPool, withTransaction } from '../../src/sql/index.js'

declare const api: Guard

// run returns the function's result.
expectTypeOf(api.run(() => 5)).toEqualTypeOf<Promise<number>>()
expectTypeOf(api.run(async () => 'text')).toEqualTypeOf<Promise<string>>()
expectTypeOf(api.execute(async () => 'text')).toEqualTypeOf<Promise<Executed<string>>>()
expectTypeOf<Executed<string>>().toEqualTypeOf<{ readonly value: string; readonly session: Session }>()
expectTypeOf(api.run(() => {})).toEqualTypeOf<Promise<void>>()
expectTypeOf(api.run((): PromiseLike<boolean> => Promise.resolve(true))).toEqualTypeOf<Promise<boolean>>()
expectTypeOf(api.run((): number | Promise<number> => 5)).toEqualTypeOf<Promise<number>>()
expectTypeOf(api.run(() => Promise.reject(new Error('down')))).toEqualTypeOf<Promise<never>>()
expectTypeOf(api.run<5 | 6>(() => 5)).toEqualTypeOf<Promise<5 | 6>>()

// run passes the function one attempt.
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

// wrap keeps parameters, and returns a promise of the result.
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
// @ts-expect-error this is not an account
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

// The result type of a fallback is part of the result.
const safe = guard({ fallback: () => 'x' })
expectTypeOf(safe).toEqualTypeOf<Guard<Attempt, string>>()
expectTypeOf(safe.run((): number => 1)).toEqualTypeOf<Promise<number | string>>()
expectTypeOf(safe.execute((): number => 1)).toEqualTypeOf<Promise<Executed<number | string>>>()
expectTypeOf(safe.run(async () => ({ id: 7 }))).toEqualTypeOf<Promise<{ id: number } | string>>()
expectTypeOf(safe.wrap((id: number) => id)).toEqualTypeOf<
  (this: unknown, id: number) => Promise<number | string>
>()
expectTypeOf(safe.wrap(async (id: number) => id)).returns.toEqualTypeOf<Promise<number | string>>()
expectTypeOf(guard({ fallback: async () => null }).run(() => 5)).toEqualTypeOf<Promise<number | null>>()
expectTypeOf(guard({ fallback: undefined }).run(() => 5)).toEqualTypeOf<Promise<number>>()
expectTypeOf(guard({ ...openai, fallback: () => [] as string[] }).run(() => 5)).toEqualTypeOf<
  Promise<number | string[]>
>()
expectTypeOf(guard({ fallback: (error) => Promise.reject(error) }).run(() => 5)).toEqualTypeOf<
  Promise<number>
>()
declare const pool: Pool<{ url: string }>
expectTypeOf(guard({ pool, fallback: () => 'x' }).run(({ member }) => member.value.url.length)).toEqualTypeOf<
  Promise<number | string>
>()
declare const options: GuardOptions
expectTypeOf(guard(options).run(() => 5)).toEqualTypeOf<Promise<number>>()
declare const client: TransactionPool
expectTypeOf(withTransaction(client, () => 5, { fallback: () => 'x' })).toEqualTypeOf<
  Promise<number | string>
>()

// A guard with a fallback can be passed where any guard is expected; a type that names the fallback keeps it.
const anyGuard: Guard = safe
expectTypeOf(anyGuard.run(() => 5)).toEqualTypeOf<Promise<number>>()
const namedGuard: Guard<Attempt, string> = guard({ fallback: () => 'x' })
expectTypeOf(namedGuard.run(() => 5)).toEqualTypeOf<Promise<number | string>>()

// wrap keeps overloads, type parameters and the type of an asynchronous function.
declare function load(id: number): Promise<{ id: number }>
declare function load(name: string, depth?: number): Promise<{ name: string }[]>
expectTypeOf(api.wrap(load)).toEqualTypeOf<typeof load>()
expectTypeOf(api.wrap(load)(1)).toEqualTypeOf<Promise<{ id: number }>>()
expectTypeOf(api.wrap(load)('a', 2)).toEqualTypeOf<Promise<{ name: string }[]>>()
expectTypeOf(safe.wrap(load)(1)).toEqualTypeOf<Promise<{ id: number } | string>>()
expectTypeOf(safe.wrap(load)('a')).toEqualTypeOf<Promise<{ name: string }[] | string>>()
// @ts-expect-error there is no such overload
void api.wrap(load)(true)
// @ts-expect-error there is no such overload
void safe.wrap(load)(true)
declare function parse(text: string): number
declare function parse(text: string, all: true): number[]
declare function parse(text: number[]): string
expectTypeOf(api.wrap(parse)('1')).toEqualTypeOf<Promise<number>>()
expectTypeOf(api.wrap(parse)('1', true)).toEqualTypeOf<Promise<number[]>>()
expectTypeOf(api.wrap(parse)([1])).toEqualTypeOf<Promise<string>>()
const failing = () => {
  throw new Error('down')
}
expectTypeOf(api.wrap(failing)).returns.toEqualTypeOf<Promise<never>>()
const untyped = JSON.parse as (text: string) => ReturnType<typeof JSON.parse>
expectTypeOf(api.wrap(untyped)).returns.toEqualTypeOf<Promise<ReturnType<typeof JSON.parse>>>()
const identity = api.wrap(async <T>(value: T) => value)
expectTypeOf(identity(5 as const)).toEqualTypeOf<Promise<5>>()
const safeFirst = safe.wrap(<T>(list: readonly T[]) => list[0])
expectTypeOf(safeFirst([1])).resolves.toEqualTypeOf<number | undefined | string>()

// A wrapped function returns a plain promise, also where the function returns a subclass.
class Deferred<T> extends Promise<T> {
  readonly isDone = false
}
declare function begin(id: number): Deferred<string>
expectTypeOf(api.wrap(begin)).parameters.toEqualTypeOf<[id: number]>()
expectTypeOf(api.wrap(begin)).returns.toEqualTypeOf<Promise<string>>()
declare function beginAny(id: number): Deferred<number>
declare function beginAny(name: string): Deferred<string>
expectTypeOf(api.wrap(beginAny)(1)).toEqualTypeOf<Promise<number>>()
expectTypeOf(api.wrap(beginAny)('a')).toEqualTypeOf<Promise<string>>()
declare function either(id: number): Promise<number> | Promise<string>
expectTypeOf(api.wrap(either)(1)).toEqualTypeOf<Promise<number | string>>()

// A wrapped function has no properties of the function.
declare const cached: { (id: number): Promise<string>; readonly cache: Map<number, string> }
expectTypeOf(api.wrap(cached)).parameters.toEqualTypeOf<[id: number]>()
expectTypeOf(api.wrap(cached)).returns.toEqualTypeOf<Promise<string>>()
expectTypeOf(api.wrap(cached)).not.toHaveProperty('cache')
declare const loader: typeof load & { clear(): void }
expectTypeOf(api.wrap(loader)(1)).toEqualTypeOf<Promise<{ id: number }>>()
expectTypeOf(api.wrap(loader)('a')).toEqualTypeOf<Promise<{ name: string }[]>>()
expectTypeOf(api.wrap(loader)).not.toHaveProperty('clear')

// An option that is undefined counts as absent.
guard({
  name: undefined,
  retry: { maxAttempts: undefined, baseDelay: undefined, retryOn: undefined, retryIf: undefined },
  breaker: { failureThreshold: undefined, windowType: undefined },
  timeout: { attempt: undefined, total: undefined },
  bulkhead: { limit: 1, queue: undefined },
  hedge: { delay: 1, max: undefined },
  fallback: undefined,
  classify: undefined,
  clock: undefined,
  random: undefined,
  enabled: undefined,
})
guard({
  retry: undefined,
  breaker: undefined,
  timeout: undefined,
  bulkhead: undefined,
  budget: undefined,
  hedge: undefined,
})
new Pool({
  id: 'p',
  members: [{ id: 'a', value: 1, weight: undefined, region: undefined }],
  strategy: undefined,
})
createFetch({ fetch: undefined, throwOnStatus: undefined, retry: { notProcessedStatuses: undefined } })

// isHoldfastError with a code narrows the error's code.
declare const thrown: unknown
if (isHoldfastError(thrown, 'CIRCUIT_OPEN')) expectTypeOf(thrown.code).toEqualTypeOf<'CIRCUIT_OPEN'>()
if (isHoldfastError(thrown)) expectTypeOf(thrown).toEqualTypeOf<HoldfastError>()
if (isHoldfastError(thrown, 'CANCELLED') || isHoldfastError(thrown, 'NETWORK_DOWN'))
  expectTypeOf(thrown.code).toEqualTypeOf<'CANCELLED' | 'NETWORK_DOWN'>()
// @ts-expect-error there is no such code
isHoldfastError(thrown, 'CIRCUIT_CLOSED')

// A duration is what can be read as one.
expectTypeOf<'0s' | '0.5s' | '1.005s' | '1.50h' | '100ms' | '10.25m'>().toExtend<Duration>()
expectTypeOf<'10 s'>().not.toExtend<Duration>()
expectTypeOf<' 10s'>().not.toExtend<Duration>()
expectTypeOf<'1.5 s'>().not.toExtend<Duration>()
expectTypeOf<'-5s'>().not.toExtend<Duration>()
expectTypeOf<'1e3s'>().not.toExtend<Duration>()
expectTypeOf<'0x10s'>().not.toExtend<Duration>()
expectTypeOf<'.5s'>().not.toExtend<Duration>()
expectTypeOf<'5.s'>().not.toExtend<Duration>()
// @ts-expect-error there is a space before the unit
guard({ timeout: { attempt: '10 s' } })

// The context of a key function is unknown.
guard({ breaker: { key: (context) => (expectTypeOf(context).toEqualTypeOf<unknown>(), 'a') } })
