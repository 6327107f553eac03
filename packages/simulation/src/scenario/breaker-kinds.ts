import type { Choices } from '../engine/seeded-random.js'

/** Settings of the breakers. All of them stay open for at most 15 s, so that the calls of a drill can close them. */
const SETTINGS = {
  rolling: {
    failureThreshold: 4,
    windowDuration: 30_000,
    timeoutDuration: 15_000,
    successThreshold: 2,
    halfOpenMax: 2,
  },
  /** Failures without a success between them, and one probe at a time. */
  consecutive: {
    windowType: 'consecutive',
    failureThreshold: 3,
    windowDuration: 30_000,
    timeoutDuration: 12_000,
    successThreshold: 2,
    halfOpenMax: 1,
  },
  /** A share of failed or slow calls. */
  rate: {
    windowType: 'rate',
    failureRate: 0.5,
    minimumCalls: 4,
    slowCallDuration: 2000,
    slowCallRate: 0.6,
    windowDuration: 60_000,
    timeoutDuration: 10_000,
    successThreshold: 1,
    halfOpenMax: 2,
  },
  /** An open duration that grows with each opening. */
  growing: {
    failureThreshold: 3,
    windowDuration: 60_000,
    timeoutDuration: 3000,
    timeoutMultiplier: 2,
    maxTimeoutDuration: 15_000,
    successThreshold: 1,
    halfOpenMax: 1,
  },
} as const

export type BreakerKind = keyof typeof SETTINGS

export const BREAKER_KINDS = Object.keys(SETTINGS) as readonly BreakerKind[]

/** How many breakers have a kind of their own: those of the four operations, and those of the members of the pool. */
const KIND_COUNT = 5

/** The kinds of the breakers of a scenario. */
export const planBreakerKinds = (choices: Choices): BreakerKind[] =>
  Array.from({ length: KIND_COUNT }, () => choices.pick(['rolling', 'rolling', ...BREAKER_KINDS]))

/** The settings of a breaker by its position. A scenario without kinds has rolling windows. */
export const breakerSettings = (kinds: readonly BreakerKind[] | undefined, at: number): object =>
  SETTINGS[kinds?.[at] ?? 'rolling']
