import { type Attempt, sessionOf } from 'holdfast'
import type { Run } from '../api-types.js'
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

function withCause(error: unknown, original: unknown): unknown {
  if (error instanceof Error && error !== original && error.cause === undefined && Object.isExtensible(error))
    error.cause = original
  return error
}

/** Calls a step's fallback. An error of the fallback gets the original error as its cause. */
export async function callFallback(
  step: NamedStep,
  { item, itemId }: ItemContext,
  value: unknown,
  original: unknown,
): Promise<unknown> {
  try {
    return await step.fallback?.(original, { item, itemId, value })
  } catch (error) {
    throw withCause(error, original)
  }
}

/** Runs items through steps, from any step on. */
export class StepRunner {
  private readonly runCall: Run
  private readonly deadLetters: DeadLetters

  constructor(run: Run, deadLetters: DeadLetters) {
    this.runCall = run
    this.deadLetters = deadLetters
  }

  /** Never rejects: a failure is stored as a dead letter and returned. */
  async run(
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
        value = await (step.fallback === undefined
          ? this.runPlain(step, itemContext, payload, signal)
          : this.runWithFallback(step, itemContext, payload, signal))
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
    keep: object,
  ) {
    const { operation, service, pool, policy } = step
    const { itemId, correlationId } = itemContext
    return this.runCall(
      operation,
      (attempt) => step.run(payload.value as never, createStepContext(attempt, itemContext, step)),
      { itemId, correlationId, service, pool, policy, signal, ...keep },
    )
  }

  private runPlain(
    step: NamedStep,
    itemContext: ItemContext,
    payload: ResumePoint,
    signal: AbortSignal | undefined,
  ) {
    return this.runStep(step, itemContext, payload, signal, {
      payload,
      idempotencyKey: stepIdempotencyKey(itemContext, step),
    })
  }

  /** Runs a step with a fallback. It becomes a dead letter only if the fallback fails too. */
  private async runWithFallback(
    step: NamedStep,
    itemContext: ItemContext,
    payload: ResumePoint,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const rejection = this.deadLetters.rejectionIfFull()
    if (rejection !== undefined) throw rejection
    try {
      return await this.runStep(step, itemContext, payload, signal, {})
    } catch (original) {
      if (signal?.aborted) throw original
      try {
        return await callFallback(step, itemContext, payload.value, original)
      } catch (error) {
        const { itemId, correlationId } = itemContext
        await this.deadLetters.capture({
          operation: step.operation,
          itemId,
          correlationId,
          payload,
          error,
          retryCount: Math.max(0, (sessionOf(original)?.attempts.length ?? 1) - 1),
          idempotencyKey: stepIdempotencyKey(itemContext, step),
        })
        throw error
      }
    }
  }
}
