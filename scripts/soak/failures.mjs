// The failures of a service, from a seed: phases in which it works, fails sometimes and is down, and the outcome of each request.
import { seeded } from '../../packages/runtime/test/crash/random.mjs'

/**
 * @typedef {'ok' | 'error' | 'unavailable' | 'limited' | 'reset' | 'slow'} Outcome
 * @typedef {{ endsAt: number, failureRate: number }} Phase
 */

/** How long phases last and how many requests fail in them. A cycle has each of them once. */
const PHASES = [
  { minMs: 20_000, maxMs: 50_000, failureRate: 0.03 },
  { minMs: 5000, maxMs: 10_000, failureRate: 0.4 },
  { minMs: 20_000, maxMs: 40_000, failureRate: 0.01 },
  { minMs: 4000, maxMs: 10_000, failureRate: 1 },
]

/** Kinds of failures and how often they occur among failures. @type {readonly (readonly [Outcome, number])[]} */
const KINDS = [
  ['error', 0.35],
  ['unavailable', 0.35],
  ['limited', 0.1],
  ['reset', 0.15],
  ['slow', 0.05],
]

/** Decides the outcome of each request to one service. */
export class FailingService {
  #random
  #cycle = 0
  /** @type {Phase} */
  #phase = { endsAt: 0, failureRate: 0 }
  isHealthy = false

  /** @param {number} seed */
  constructor(seed) {
    this.#random = seeded(seed)
  }

  /** @param {number} now in milliseconds since the start @returns {Outcome} */
  next(now) {
    while (now >= this.#phase.endsAt) this.#phase = this.#nextPhase()
    const failureRate = this.isHealthy ? 0 : this.#phase.failureRate
    if (this.#random() >= failureRate) return 'ok'
    let rest = this.#random()
    for (const [kind, share] of KINDS) {
      rest -= share
      if (rest < 0) return kind
    }
    return 'error'
  }

  /** A latency in milliseconds, mostly short. */
  latencyMs() {
    return Math.min(100, -5 * Math.log(1 - this.#random()))
  }

  /** @returns {Phase} */
  #nextPhase() {
    const { minMs, maxMs, failureRate } = /** @type {(typeof PHASES)[number]} */ (
      PHASES[this.#cycle++ % PHASES.length]
    )
    return { endsAt: this.#phase.endsAt + minMs + this.#random() * (maxMs - minMs), failureRate }
  }
}
