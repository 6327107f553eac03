import { HoldfastError } from 'holdfast'
import { replayPayloadOf } from '../dead-letters/entry.js'
import type { ReplayFunction } from '../dead-letters/handlers.js'
import type { NamedStep } from './step.js'
import {
  createStepContext,
  type ItemContext,
  type ResumePoint,
  type StepRunner,
  stepCallOptions,
} from './step-runner.js'

/** A step and the steps after it. */
export type RemainingSteps = readonly [step: NamedStep, ...after: NamedStep[]]

const isResumePoint = (payload: unknown): payload is ResumePoint =>
  typeof payload === 'object' && payload !== null && typeof (payload as ResumePoint).step === 'string'

/**
 * Replays an item from the step in which it failed. That step runs under the operation's guard like any replay. The later
 * steps run under their own operations, and a failure in one of them becomes its own dead letter, so that no step is
 * repeated.
 */
export function createReplayer(
  stepRunner: StepRunner,
  restOf: (step: string) => RemainingSteps | undefined,
  operation: string,
): ReplayFunction {
  return async (entry, through) => {
    const payload = replayPayloadOf(entry)
    const remaining = isResumePoint(payload) ? restOf(payload.step) : undefined
    if (remaining === undefined || !isResumePoint(payload))
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `${entry.dlqId} cannot be resumed: no pipeline of this process ${isResumePoint(payload) ? `has a step ${JSON.stringify(payload.step)}` : 'created it'} under ${operation}`,
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
    const value = await through(
      (attempt) =>
        step.run(structuredClone(payload.value) as never, createStepContext(attempt, itemContext, step)),
      stepCallOptions(step, itemContext, payload.value),
    )
    const result = await stepRunner.run(after, itemContext, value, undefined)
    // An item that could not be stored under its own step stays in this entry.
    if (result.end === 'failed' && result.deadLetterId === undefined) throw result.error
  }
}
