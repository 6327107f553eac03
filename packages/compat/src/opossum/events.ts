import type { Count } from './status.js'

/** The events of a circuit, with the arguments of their listeners. */
export interface CircuitEvents<TI extends unknown[], TR> {
  halfOpen: [resetTimeout: number]
  close: []
  open: []
  shutdown: []
  fire: [args: TI]
  cacheHit: []
  cacheMiss: []
  coalesceCacheHit: []
  coalesceCacheMiss: []
  reject: [error: Error]
  timeout: [error: Error, latency: number, args: TI]
  success: [result: TR, latency: number]
  semaphoreLocked: [error: Error, latency: number]
  healthCheckFailed: [error: Error]
  fallback: [result: unknown, error: Error]
  failure: [error: Error, latency: number, args: TI]
}

/** The counts that events increment. */
export const COUNT_OF_EVENT = {
  success: 'successes',
  failure: 'failures',
  fallback: 'fallbacks',
  timeout: 'timeouts',
  fire: 'fires',
  reject: 'rejects',
  cacheHit: 'cacheHits',
  cacheMiss: 'cacheMisses',
  coalesceCacheHit: 'coalesceCacheHits',
  coalesceCacheMiss: 'coalesceCacheMisses',
  semaphoreLocked: 'semaphoreRejections',
} as const satisfies Record<string, Count>
