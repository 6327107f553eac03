// Compiled with opossum and with ours: see tsconfig.json.
import { EventEmitter } from 'node:events'
import CircuitBreaker from 'opossum'
import { expectTypeOf } from 'vitest'

const load = async (id: string, depth: number): Promise<number> => id.length + depth
const breaker = new CircuitBreaker(load, {
  timeout: false,
  rotateBucketController: new EventEmitter(),
  abortController: new AbortController(),
  cacheGetKey: (id, depth) => `${id}${depth.toFixed()}`,
  errorFilter: (error) => error.response.status < 500,
})
expectTypeOf(breaker).toEqualTypeOf<CircuitBreaker<[id: string, depth: number], number>>()
expectTypeOf(breaker.fire('a', 1)).toEqualTypeOf<Promise<number>>()
expectTypeOf(breaker.call({}, 'a', 1)).toEqualTypeOf<Promise<number>>()
// @ts-expect-error the arguments are those of the action
void breaker.fire(1, 'a')

const isNotFound = (error: { status: number }) => error.status === 404
expectTypeOf(new CircuitBreaker(load, { errorFilter: isNotFound }).fire).toEqualTypeOf(breaker.fire)
expectTypeOf(new CircuitBreaker(load, { errorFilter: () => true }).fire).toEqualTypeOf(breaker.fire)
expectTypeOf(new CircuitBreaker(async () => {}).fire).toEqualTypeOf<() => Promise<void>>()

breaker.on('success', (result, latency) => expectTypeOf([result, latency]).toEqualTypeOf<number[]>())
breaker.on('fire', ([id, depth]) => expectTypeOf([id, depth]).toEqualTypeOf<(string | number)[]>())
breaker.on('failure', (error, _latency, [id]) => expectTypeOf([error.message, id]).toEqualTypeOf<string[]>())
breaker.on('fallback', (result) => expectTypeOf(result).toEqualTypeOf<unknown>())
breaker.on('timeout', () => {})
// The other methods of an event emitter take any listener.
breaker.once('fallback', (result: string, error: Error) => [result, error])
breaker.prependListener('reject', (error: Error & { code: string }) => error.code)
breaker.addListener('timeout', (error: NodeJS.ErrnoException, latency: number) => [error.code, latency])

// A circuit is assignable to one with other arguments.
const circuits = new Map<string, CircuitBreaker>([['load', breaker]])
const anyCircuit: CircuitBreaker<unknown[], unknown> = breaker
const emitter: EventEmitter = breaker
breaker.fallback(anyCircuit).fallback((id, depth, error) => `${id}${depth}${error.message}`)
breaker.fallback((error) => Promise.reject(error))
breaker.healthCheck(async () => {}, 1000)

class NamedCircuit<TI extends unknown[], TR> extends CircuitBreaker<TI, TR> {
  constructor(name: string, action: (...args: TI) => Promise<TR>, options: CircuitBreaker.Options<TI> = {}) {
    super(action, { ...options, name })
  }
}

const memory: CircuitBreaker.MemoryCache = {
  get: (key: string) => key,
  set: (_key: string, _value: Promise<number>, _ttl: number) => {},
  flush: () => {},
}
const filter: CircuitBreaker.Options['errorFilter'] = (error: { status: number }) => error.status === 404
const options: CircuitBreaker.Options<[string]> = {
  cache: true,
  cacheTransport: memory satisfies CircuitBreaker.CacheTransport,
  errorFilter: filter,
}

// An object of the program, such as one of its tests.
const stats: CircuitBreaker.Stats = {
  failures: 0,
  fallbacks: 0,
  successes: 0,
  rejects: 0,
  fires: 0,
  timeouts: 0,
  cacheHits: 0,
  cacheMisses: 0,
  semaphoreRejections: 0,
  percentiles: { 0.5: 1 },
  latencyTimes: [1],
  latencyMean: 1,
}
const status: CircuitBreaker.Status = CircuitBreaker.newStatus({ rollingCountBuckets: 1, stats })
status.on('snapshot', (snapshot) => expectTypeOf(snapshot.fires).toEqualTypeOf<number>())
const window: CircuitBreaker.Window = status.window
const bucket: CircuitBreaker.Bucket | undefined = window[0]
const { state, status: counts } = breaker.toJSON()
const saved: [CircuitBreaker.State, CircuitBreaker.Stats] = [state, counts]
const isOurs: boolean = CircuitBreaker.isOurError(new Error())

export { bucket, circuits, emitter, isOurs, NamedCircuit, options, saved }
