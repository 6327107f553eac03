import { type Attempt, sessionOf } from 'holdfast'
import type { DeadLetters } from '../dead-letters/dead-letters.js'
import type { Run } from '../face.js'
import type { NamedStep, StepContext } from './step.js'

/** An item on its way. */
export interface Traveller {
  readonly item: unknown
  readonly itemId: string
  /** What its idempotency keys begin with. */
  readonly key: string
  readonly correlationId: string
}

/** What an item's dead letter holds: enough to go on from the step that failed. */
export interface Stranded {
  readonly step: string
  readonly item: unknown
  readonly value: unknown
}

/** How far an item came. */
export type Passed =
  | { readonly end: 'succeeded'; readonly value: unknown }
  | {
      readonly end: 'failed'
      readonly step: string
      readonly error: unknown
      readonly deadLetterId: string | undefined
    }
  | { readonly end: 'skipped'; readonly step: string }

/** The key of a step: the same however often it is tried. */
const keyOf = ({ key }: Pick<Traveller, 'key'>, step: NamedStep): string => `${key}:${step.name}`

/** The context of one attempt. Its signal is made when it is read, as an attempt's own is. */
export function contextOf(attempt: Attempt, traveller: Traveller, step: NamedStep): StepContext {
  const { item, itemId } = traveller
  return {
    item,
    itemId,
    attempt: attempt.number,
    get signal() {
      return attempt.signal
    },
    member: attempt.member,
    idempotencyKey: keyOf(traveller, step),
    note: (facts) => attempt.note(facts),
  }
}

function withCause(error: unknown, original: unknown): unknown {
  if (error instanceof Error && error !== original && error.cause === undefined && Object.isExtensible(error))
    error.cause = original
  return error
}

/** Asks a step's fallback. What it throws has the original error as its cause. */
export async function fallBack(
  step: NamedStep,
  { item, itemId }: Traveller,
  value: unknown,
  original: unknown,
): Promise<unknown> {
  try {
    return await step.fallback?.(original, { item, itemId, value })
  } catch (error) {
    throw withCause(error, original)
  }
}

/** Takes items through steps, from any of them on. */
export class Course {
  private readonly runCall: Run
  private readonly deadLetters: DeadLetters

  constructor(run: Run, deadLetters: DeadLetters) {
    this.runCall = run
    this.deadLetters = deadLetters
  }

  /** Never rejects: what fails is kept and told. */
  async pass(
    steps: readonly NamedStep[],
    traveller: Traveller,
    given: unknown,
    signal: AbortSignal | undefined,
  ): Promise<Passed> {
    let value = given
    for (const step of steps) {
      if (signal?.aborted) return { end: 'skipped', step: step.name }
      const payload: Stranded = { step: step.name, item: traveller.item, value }
      try {
        value = await (step.fallback === undefined
          ? this.plain(step, traveller, payload, signal)
          : this.falling(step, traveller, payload, signal))
      } catch (error) {
        if (signal?.aborted && error === signal.reason) return { end: 'skipped', step: step.name }
        return { end: 'failed', step: step.name, error, deadLetterId: this.deadLetters.idOf(payload) }
      }
    }
    return { end: 'succeeded', value }
  }

  private attempt(
    step: NamedStep,
    traveller: Traveller,
    payload: Stranded,
    signal: AbortSignal | undefined,
    keep: object,
  ) {
    const { operation, service, pool, policy } = step
    const { itemId, correlationId } = traveller
    return this.runCall(
      operation,
      (attempt) => step.run(payload.value as never, contextOf(attempt, traveller, step)),
      { itemId, correlationId, service, pool, policy, signal, ...keep },
    )
  }

  private plain(step: NamedStep, traveller: Traveller, payload: Stranded, signal: AbortSignal | undefined) {
    return this.attempt(step, traveller, payload, signal, { payload, idempotencyKey: keyOf(traveller, step) })
  }

  /** A step with a fallback is kept only when that has failed too. */
  private async falling(
    step: NamedStep,
    traveller: Traveller,
    payload: Stranded,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const refused = this.deadLetters.refuses()
    if (refused !== undefined) throw refused
    try {
      return await this.attempt(step, traveller, payload, signal, {})
    } catch (original) {
      if (signal?.aborted) throw original
      try {
        return await fallBack(step, traveller, payload.value, original)
      } catch (error) {
        const { itemId, correlationId } = traveller
        await this.deadLetters.capture({
          operation: step.operation,
          itemId,
          correlationId,
          payload,
          error,
          retryCount: Math.max(0, (sessionOf(original)?.attempts.length ?? 1) - 1),
          idempotencyKey: keyOf(traveller, step),
        })
        throw error
      }
    }
  }
}
