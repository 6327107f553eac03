import type { EventEmitter } from 'node:events'
import { type CacheTransport, MemoryCache } from './cache.js'
import type { Stats, Status } from './status.js'

/** An event that clears the entry of a call that other calls share. */
export type CoalesceReset = 'error' | 'success' | 'timeout'

/** The state of a circuit, as `toJSON` returns it. */
export interface State {
  name: string
  enabled: boolean
  closed: boolean
  open: boolean
  halfOpen: boolean
  warmUp: boolean
  shutdown: boolean
  /** When the circuit last opened, or else was created, in epoch milliseconds. */
  lastTimerAt: number
}

/** Options of a circuit. */
export interface Options<TI extends unknown[] = unknown[]> {
  /** Statistics to begin with. */
  status?: Status | Partial<Stats> | undefined
  /** A state to begin with, from `toJSON`. */
  state?: Partial<State> | undefined
  /** How long the action can take, in milliseconds; false for no limit. @defaultValue 10000 */
  timeout?: number | false | undefined
  /** Not used. @deprecated use `errorThresholdPercentage` */
  maxFailures?: number | undefined
  /** How long the circuit stays open, in milliseconds. @defaultValue 30000 */
  resetTimeout?: number | undefined
  /** The duration of the statistical window, in milliseconds. @defaultValue 10000 */
  rollingCountTimeout?: number | undefined
  /** The number of buckets of the window. @defaultValue 10 */
  rollingCountBuckets?: number | undefined
  /** The name of the circuit. @defaultValue the name of the action, else a random one */
  name?: string | undefined
  /** The name of a group of circuits. @defaultValue the name */
  group?: string | undefined
  /** Whether percentiles of the latency are computed. @defaultValue true */
  rollingPercentilesEnabled?: boolean | undefined
  /** The maximum number of calls that run at the same time. @defaultValue Number.MAX_SAFE_INTEGER */
  capacity?: number | undefined
  /** The circuit opens when more than this percentage of the calls in the window failed. @defaultValue 50 */
  errorThresholdPercentage?: number | undefined
  /** Whether the circuit is enabled. @defaultValue true */
  enabled?: boolean | undefined
  /** Whether the circuit stays closed for the first `rollingCountTimeout`. @defaultValue false */
  allowWarmUp?: boolean | undefined
  /** The minimum number of calls in the window; with fewer the circuit does not open. @defaultValue 0 */
  volumeThreshold?: number | undefined
  /** Returns true for an error that counts as a success. The call still rejects. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as in the declaration of opossum, TI is not inferred from it
  errorFilter?: ((error: any, ...args: any[]) => unknown) | undefined
  /** Whether results are cached. @defaultValue false */
  cache?: boolean | undefined
  /** How long a result is cached, in milliseconds; 0 for no limit. @defaultValue 0 */
  cacheTTL?: number | undefined
  /** The maximum number of cached results. */
  cacheSize?: number | undefined
  /** Returns the key of a call. @defaultValue the arguments as JSON */
  cacheGetKey?: ((...args: TI) => string) | undefined
  /** Where results are cached. @defaultValue in memory */
  cacheTransport?: CacheTransport | undefined
  /** Whether calls with the same key share a running call. @defaultValue false */
  coalesce?: boolean | undefined
  /** How long a call is shared, in milliseconds; 0 for no limit. @defaultValue `timeout` */
  coalesceTTL?: number | false | undefined
  /** The maximum number of shared calls. */
  coalesceSize?: number | undefined
  /** Events after which a call is no longer shared. */
  coalesceResetOn?: CoalesceReset[] | undefined
  /** Set by the circuit: the shared calls. */
  coalesceCache?: MemoryCache | undefined
  /** Aborted when a call takes longer than `timeout`. */
  abortController?: AbortController | undefined
  /** Whether an aborted controller is replaced when the circuit becomes half-open or closed. @defaultValue false */
  autoRenewAbortController?: boolean | undefined
  /** Whether the status emits `snapshot`. @defaultValue true */
  enableSnapshots?: boolean | undefined
  /** Starts a new bucket with each `rotate` event, instead of a timer. */
  rotateBucketController?: EventEmitter | undefined
}

/* oxlint-disable typescript/no-explicit-any -- circuits with different arguments are assignable to each other */
/** The options with the defaults that the constructor adds. */
export type CompleteOptions = Options<any[]> & {
  errorFilter: NonNullable<Options['errorFilter']>
  cacheGetKey: (...args: any[]) => string
  coalesceResetOn: CoalesceReset[]
  timeout: number | false
  resetTimeout: number
  errorThresholdPercentage: number
  rollingCountTimeout: number
  capacity: number
  cacheTTL: number
  coalesceTTL: number | false
}
/* oxlint-enable typescript/no-explicit-any */

const RESET_EVENTS: readonly string[] = ['error', 'success', 'timeout']

/** Adds the defaults to the object of the caller, as opossum does. */
export function completeOptions<TI extends unknown[]>(options: Options<TI>): CompleteOptions {
  options.timeout ??= 10_000
  options.resetTimeout ??= 30_000
  options.errorThresholdPercentage ??= 50
  options.rollingCountTimeout ??= 10_000
  options.rollingCountBuckets ??= 10
  options.rollingPercentilesEnabled = options.rollingPercentilesEnabled !== false
  options.capacity = Number.isInteger(options.capacity) ? options.capacity : Number.MAX_SAFE_INTEGER
  options.errorFilter ||= () => false
  options.cacheTTL ??= 0
  options.cacheGetKey ??= (...args) => JSON.stringify(args)
  options.enableSnapshots = options.enableSnapshots !== false
  options.coalesce = Boolean(options.coalesce)
  options.rotateBucketController ??= undefined // the key exists, as in opossum
  options.coalesceTTL ??= options.timeout
  options.coalesceResetOn = options.coalesceResetOn?.filter((event) => RESET_EVENTS.includes(event)) ?? []
  if (options.cache) {
    options.cacheTransport ??= new MemoryCache(options.cacheSize)
    const { get, set, flush } = options.cacheTransport as Partial<CacheTransport>
    if (typeof options.cacheTransport !== 'object' || !get || !set || !flush)
      throw new TypeError('options.cacheTransport should be an object with `get`, `set` and `flush` methods')
  }
  if (options.coalesce) options.coalesceCache = new MemoryCache(options.coalesceSize)
  return options as CompleteOptions
}
