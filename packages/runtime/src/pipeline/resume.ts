import { HoldfastError, isHoldfastError } from 'holdfast'
import type { Replayer } from '../dead-letters/handlers.js'
import { type Course, contextOf, fallBack, type Stranded, type Traveller } from './course.js'
import type { NamedStep } from './step.js'

/** Where a step stands: it, and those after it. */
export type Rest = readonly [step: NamedStep, ...after: NamedStep[]]

const isStranded = (payload: unknown): payload is Stranded =>
  typeof payload === 'object' && payload !== null && typeof (payload as Stranded).step === 'string'

/**
 * Replays an item from the step it failed in. That step is under the operation's guard as any replay is; those after it run
 * under their own, and what fails in one of them is a dead letter of its own, so that nothing is done twice.
 */
export function resumer(
  course: Course,
  restOf: (step: string) => Rest | undefined,
  operation: string,
): Replayer {
  return async (entry, through) => {
    const payload = entry.originalPayload
    const rest = isStranded(payload) ? restOf(payload.step) : undefined
    if (rest === undefined || !isStranded(payload))
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `${entry.dlqId} cannot go on: no pipeline here has ${isStranded(payload) ? `a step ${JSON.stringify(payload.step)}` : 'made it'} under ${operation}`,
      )
    const [step, ...after] = rest
    const suffix = `:${step.name}`
    const key = entry.idempotencyKey
    const traveller: Traveller = {
      item: payload.item,
      itemId: entry.itemId,
      key: key.endsWith(suffix) ? key.slice(0, -suffix.length) : key,
      correlationId: entry.correlationId ?? entry.dlqId,
    }
    const { service, pool, policy } = step
    let value: unknown
    try {
      value = await through(
        (attempt) => step.run(structuredClone(payload.value) as never, contextOf(attempt, traveller, step)),
        { service, pool, policy },
      )
    } catch (error) {
      if (step.fallback === undefined || isHoldfastError(error, 'CANCELLED')) throw error
      value = await fallBack(step, traveller, payload.value, error)
    }
    const passed = await course.pass(after, traveller, value, undefined)
    // What could not be kept under its own step stays kept under this one.
    if (passed.end === 'failed' && passed.deadLetterId === undefined) throw passed.error
  }
}
