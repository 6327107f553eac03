import type { Choices } from '../engine/seeded-random.js'
import {
  CONTRACT_OPERATIONS,
  type ContractOperation,
  type ContractPolicy,
  GUARDED_OPERATION,
} from './contract-policies.js'

/**
 * How a call of the function ends: with a value, with one that `retryIf` does not want, with an error that is retried, with one that is
 * not, with a rate limit, or with an error of `stopRetrying`.
 */
export type RunEnd = 'value' | 'unwanted' | 'error' | 'permanent' | 'limited' | 'stop'

/** One call of the function. */
export interface PlannedRun {
  readonly ms: number
  readonly end: RunEnd
  /** The Retry-After of a rate limit. */
  readonly retryAfter: number
  readonly ignoresSignal: boolean
}

/** A function of the caller that takes some time and can fail. */
interface PlannedStep {
  readonly ms: number
  readonly fails: boolean
}

/** The settings that a call overrides. */
type PolicyOverrides = Partial<
  Omit<ContractPolicy, 'bulkhead' | 'hedge' | 'budget' | 'attemptTimeout' | 'totalTimeout'>
>

/** A call of the contract. */
export interface PlannedContractCall {
  readonly operation: ContractOperation
  /** When it begins, after the start of its group. */
  readonly afterMs: number
  /** The calls of the function in their order; the last one repeats. */
  readonly runs: readonly PlannedRun[]
  readonly retry: PolicyOverrides | undefined
  readonly timeout: { readonly attempt: number; readonly total: number } | undefined
  /** Whether the call has a signal, and when its caller aborts it. */
  readonly hasSignal: boolean
  readonly abortAfterMs: number | undefined
  /** When an operator cancels the call if it has failed before. */
  readonly cancelAfterMs: number | undefined
  readonly beforeRetry: PlannedStep | undefined
  readonly fallback: PlannedStep | undefined
}

const BACKOFF_TYPES = ['exponential', 'linear', 'fixed', 'immediate', 'fibonacci'] as const
const JITTERS = ['none', 'full', 'equal', 'decorrelated', 'proportional', 'additive'] as const

/** How many calls a group has, and in which time they begin. */
const GROUP_CALLS = 9
const GROUP_MS = 1200

/** Their first runs must last, for the slots of a bulkhead and for hedges. */
const LONG_OPERATIONS: ReadonlySet<ContractOperation> = new Set([
  'contract-bulkhead',
  'contract-hedge',
  GUARDED_OPERATION,
])

const planRun = (choices: Choices, operation: ContractOperation): PlannedRun => ({
  // Most calls of one operation begin at the same time, so the first ones of a bulkhead must last.
  ms: choices.chance(0.15)
    ? choices.between(900, 2500)
    : choices.between(1, LONG_OPERATIONS.has(operation) ? 500 : 150),
  end: choices.pick([
    'value',
    'value',
    'value',
    'error',
    'error',
    'error',
    'unwanted',
    'permanent',
    'limited',
    'stop',
  ]),
  retryAfter: choices.chance(0.15) ? 2001 + choices.below(1000) : choices.below(800),
  ignoresSignal: choices.chance(0.5),
})

const planStep = (choices: Choices): PlannedStep => ({
  ms: choices.between(0, 400),
  fails: choices.chance(0.3),
})

const planOverrides = (choices: Choices): PolicyOverrides => ({
  maxAttempts: 1 + choices.below(5),
  backoffType: choices.pick(BACKOFF_TYPES),
  jitterType: choices.pick(JITTERS),
  baseDelay: choices.between(50, 300),
  multiplier: choices.between(1, 3),
  maxDelay: choices.between(300, 900),
  jitterAmount: choices.random(),
})

/** A group of calls, most of them of one operation. */
export function planContractGroup(choices: Choices): PlannedContractCall[] {
  const main = choices.pick(CONTRACT_OPERATIONS)
  return Array.from({ length: GROUP_CALLS }, () => {
    const operation = choices.chance(0.7) ? main : choices.pick(CONTRACT_OPERATIONS)
    // A fast call needs none of the options.
    const isBare = choices.chance(0.45)
    const isAborted = !isBare && choices.chance(0.15)
    const canFallBack = !LONG_OPERATIONS.has(operation)
    return {
      operation,
      afterMs: choices.between(0, GROUP_MS),
      runs: Array.from({ length: 1 + choices.below(4) }, () => {
        const run = planRun(choices, operation)
        return isBare && run.end === 'unwanted' ? { ...run, end: 'error' as const } : run
      }),
      retry:
        !isBare && operation !== GUARDED_OPERATION && choices.chance(0.5)
          ? planOverrides(choices)
          : undefined,
      timeout:
        !isBare && choices.chance(0.15)
          ? {
              attempt: choices.between(200, 700),
              // The model of a budget must know whether a retry was withdrawn, and a delay can be too long for a total timeout.
              total: operation === 'contract-budget' ? Number.POSITIVE_INFINITY : choices.between(700, 2500),
            }
          : undefined,
      hasSignal: isAborted || (!isBare && choices.chance(0.3)),
      abortAfterMs: isAborted ? choices.between(0, 1200) : undefined,
      cancelAfterMs: choices.chance(0.06) ? choices.between(50, 1200) : undefined,
      beforeRetry: !isBare && choices.chance(0.2) ? planStep(choices) : undefined,
      fallback: !isBare && canFallBack && choices.chance(0.2) ? planStep(choices) : undefined,
    }
  })
}

/** The times, after the start of a group, at which an operator opens and closes the breaker of its calls. */
export function planOutage(choices: Choices): { readonly openAt: number; readonly closeAt: number } {
  const openAt = choices.between(0, GROUP_MS)
  return { openAt, closeAt: openAt + choices.between(50, 900) }
}

const BARE = {
  retry: undefined,
  timeout: undefined,
  hasSignal: false,
  abortAfterMs: undefined,
  cancelAfterMs: undefined,
  beforeRetry: undefined,
  fallback: undefined,
} as const

/** Longer than `close` waits for active calls. */
const LONG_MS = 14_000

/** The longest time that calls take which do not delay a close. */
const SHORT_MS = 50

/** What runs when a runtime closes: nothing, calls that end at once, calls that fail and retry, or also one that must be cancelled. */
export const CLOSING_KINDS = ['idle', 'short', 'busy', 'long'] as const
export type ClosingKind = (typeof CLOSING_KINDS)[number]

/** Calls that have just begun when their runtime closes. A bulkhead rejects several of them. */
export function planClosingGroup(choices: Choices, kind: ClosingKind): PlannedContractCall[] {
  if (kind === 'idle') return []
  const calls: PlannedContractCall[] = Array.from({ length: 7 }, () => ({
    ...BARE,
    operation: 'contract-bulkhead',
    afterMs: 0,
    runs: [planRun(choices, 'contract-bulkhead')].map((run) => {
      if (kind === 'short') return { ...run, ms: choices.between(0, SHORT_MS), end: 'value' as const }
      return run.end === 'unwanted' ? { ...run, end: 'error' as const } : run
    }),
  }))
  if (kind === 'long')
    calls.push({
      ...BARE,
      operation: 'contract-plain',
      afterMs: 0,
      timeout: { attempt: 2 * LONG_MS, total: 2 * LONG_MS },
      runs: [{ ms: LONG_MS, end: 'value', retryAfter: 0, ignoresSignal: choices.chance(0.5) }],
    })
  return calls
}
