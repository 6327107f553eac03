import type { Attempt } from 'holdfast'
import type { CallOptions, Run } from '../api-types.js'
import type { DeadLetters } from '../dead-letters/dead-letters.js'
import type { NamedStep, StepContext } from './step.js'

/** An item that is being processed. */
export interface ItemContext {
  readonly item: unknown
  readonly itemId: string
  /** The prefix of its idempotency keys. */
  readonly key: string
  readonly correlationId: string
}

/** The payload of an item's dead letter: the data to resume from the failed step. */
export interface ResumePoint {
  readonly step: string
  readonly item: unknown
  readonly value: unknown
}

/** How the steps of an item ended. */
export type ItemResult =
  | { readonly end: 'succeeded'; readonly value: unknown }
  | {
      readonly end: 'failed'
      readonly step: string
      readonly error: unknown
      readonly deadLetterId: string | undefined
    }
  | { readonly end: 'skipped'; readonly step: string }

/** The idempotency key of a step, which is the same for every attempt. */
const stepIdempotencyKey = ({ key }: Pick<ItemContext, 'key'>, step: NamedStep): string =>
  `${key}:${step.name}`

/** Creates the context of one attempt. The signal is created when it is first read, like that of an attempt. */
export function createStepContext(attempt: Attempt, itemContext: ItemContext, step: NamedStep): StepContext {
  const { item, itemId } = itemContext
  return {
    item,
    itemId,
    attempt: attempt.number,
    get signal() {
      return attempt.signal
    },
    member: attempt.member,
    idempotencyKey: stepIdempotencyKey(itemContext, step),
    note: (facts) => attempt.note(facts),
  }
}

/** The options of a step's call on which its policy, its member and the value after a failure depend. */
export function stepCallOptions(
  { service, pool, policy, fallback }: NamedStep,
  { item, itemId }: ItemContext,
  value: unknown,
): Pick<CallOptions<unknown>, 'service' | 'pool' | 'policy' | 'fallback'> {
  return {
    service,
    pool,
    policy,
    fallback: fallback && ((error) => fallback(error, { item, itemId, value })),
  }
}

/** Runs items through steps, from any step on. */
export class StepRunner {
  private readonly runCall: Run
  private readonly deadLetters: DeadLetters
  private readonly running = new Set<Promise<ItemResult>>()

  constructor(run: Run, deadLetters: DeadLetters) {
    this.runCall = run
    this.deadLetters = deadLetters
  }

  /** Never rejects: a failure is stored as a dead letter and returned. */
  run(
    steps: readonly NamedStep[],
    itemContext: ItemContext,
    input: unknown,
    signal: AbortSignal | undefined,
  ): Promise<ItemResult> {
    const result = this.runSteps(steps, itemContext, input, signal)
    this.running.add(result)
    void result.finally(() => this.running.delete(result))
    return result
  }

  /** Resolves when the items that are being processed have ended. */
  async whenSettled(): Promise<void> {
    await Promise.allSettled(this.running)
  }

  private async runSteps(
    steps: readonly NamedStep[],
    itemContext: ItemContext,
    input: unknown,
    signal: AbortSignal | undefined,
  ): Promise<ItemResult> {
    let value = input
    for (const step of steps) {
      if (signal?.aborted) return { end: 'skipped', step: step.name }
      const payload: ResumePoint = { step: step.name, item: itemContext.item, value }
      try {
        value = await this.runStep(step, itemContext, payload, signal)
      } catch (error) {
        if (signal?.aborted && error === signal.reason) return { end: 'skipped', step: step.name }
        return { end: 'failed', step: step.name, error, deadLetterId: this.deadLetters.capturedIdOf(payload) }
      }
    }
    return { end: 'succeeded', value }
  }

  private runStep(
    step: NamedStep,
    itemContext: ItemContext,
    payload: ResumePoint,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const { itemId, correlationId } = itemContext
    return this.runCall(
      step.operation,
      (attempt) => step.run(payload.value as never, createStepContext(attempt, itemContext, step)),
      {
        ...stepCallOptions(step, itemContext, payload.value),
        itemId,
        correlationId,
        signal,
        payload,
        idempotencyKey: stepIdempotencyKey(itemContext, step),
      },
    )
  }
}
