import { HoldfastError, isHoldfastError } from 'holdfast'
import type { ReplayFunction } from '../dead-letters/handlers.js'
import type { NamedStep } from './step.js'
import {
  callFallback,
  createStepContext,
  type ItemContext,
  type ResumePoint,
  type StepRunner,
} from './step-runner.js'

/** Where a step stands: it, and those after it. */
export type RemainingSteps = readonly [step: NamedStep, ...after: NamedStep[]]

const isResumePoint = (payload: unknown): payload is ResumePoint =>
  typeof payload === 'object' && payload !== null && typeof (payload as ResumePoint).step === 'string'

/**
 * Replays an item from the step it failed in. That step is under the operation's guard as any replay is; those after it run
 * under their own, and what fails in one of them is a dead letter of its own, so that nothing is done twice.
 */
export function createReplayer(
  stepRunner: StepRunner,
  restOf: (step: string) => RemainingSteps | undefined,
  operation: string,
): ReplayFunction {
  return async (entry, through) => {
    const payload = entry.originalPayload
    const remaining = isResumePoint(payload) ? restOf(payload.step) : undefined
    if (remaining === undefined || !isResumePoint(payload))
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `${entry.dlqId} cannot go on: no pipeline here has ${isResumePoint(payload) ? `a step ${JSON.stringify(payload.step)}` : 'made it'} under ${operation}`,
      )
    const [step, ...after] = remaining
    const suffix = `:${step.name}`
    const key = entry.idempotencyKey
    const itemContext: ItemContext = {
      item: payload.item,
      itemId: entry.itemId,
      key: key.endsWith(suffix) ? key.slice(0, -suffix.length) : key,
      correlationId: entry.correlationId ?? entry.dlqId,
    }
    const { service, pool, policy } = step
    let value: unknown
    try {
      value = await through(
        (attempt) =>
          step.run(structuredClone(payload.value) as never, createStepContext(attempt, itemContext, step)),
        { service, pool, policy },
      )
    } catch (error) {
      if (step.fallback === undefined || isHoldfastError(error, 'CANCELLED')) throw error
      value = await callFallback(step, itemContext, payload.value, error)
    }
    const result = await stepRunner.run(after, itemContext, value, undefined)
    // What could not be kept under its own step stays kept under this one.
    if (result.end === 'failed' && result.deadLetterId === undefined) throw result.error
  }
}
