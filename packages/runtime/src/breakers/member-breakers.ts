import type { CircuitBreakerState } from '@holdfast/records'
import type { CircuitBreaker } from 'holdfast'

/** A pool, as far as the breakers of its members are concerned. */
export interface BreakerPool {
  readonly id: string
  readonly size: number
  members(): readonly { readonly id: string }[]
  breaker(member: string): CircuitBreaker
  /** The breakers that exist; a member gets its breaker when it is first needed. */
  usedBreakers(): readonly CircuitBreaker[]
}

/** The breakers of pool members. */
export interface BreakerPools {
  has(pool: string): boolean
  get(pool: string): BreakerPool
  list(): readonly BreakerPool[]
  breakerRecord(pool: BreakerPool, member: string): CircuitBreakerState
  /** The pools whose breakers are saved. */
  persistedPools(): Iterable<BreakerPool>
}
