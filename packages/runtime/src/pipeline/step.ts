import { type Attempt, HoldfastError } from 'holdfast'
import type { CallOptions } from '../api-types.js'

/** What a step is told besides the value. */
export interface StepContext {
  /** The item as it came into the pipeline. */
  readonly item: unknown
  readonly itemId: string
  /** 1 for the first attempt at this step. */
  readonly attempt: number
  /** Aborted when a deadline passes or the pipeline is stopped. */
  readonly signal: AbortSignal
  /** The pool's member to call, where the step has a pool. */
  readonly member: Attempt['member']
  /** The same for every attempt at this step of this item, replays included: for targets that honour one. */
  readonly idempotencyKey: string
  /** Adds facts to the attempt's record. */
  note(context: object): void
}

/** What a step's fallback is told besides the error. */
export interface StepFallbackContext {
  readonly item: unknown
  readonly itemId: string
  /** What the step was given. */
  readonly value: unknown
}

/** One step of a pipeline. What it is given and what it gives must be JSON, so that it can be kept when the step fails. */
export interface Step extends Pick<CallOptions, 'service' | 'pool' | 'policy'> {
  /** The operation it runs under: its policy, its breaker, its dead letters. */
  operation: string
  /** What tells it from the other steps. @defaultValue the operation */
  name?: string | undefined
  /** Does it: gets what the step before gave, the item itself in the first. It must leave what it gets as it is. */
  run(value: never, context: StepContext): unknown
  /** Gives a value in place of the one the step could not give. Where it throws, the step has failed. */
  fallback?: ((error: unknown, context: StepFallbackContext) => unknown) | undefined
}

/** A step with its name. */
export type NamedStep = Step & { readonly name: string }

const isNonEmptyString = (value: unknown) => typeof value === 'string' && value !== ''

/** @throws INVALID_OPTIONS that lists everything wrong with the steps */
export function parseSteps(input: readonly Step[]): readonly NamedStep[] {
  const problems: string[] = []
  if (!Array.isArray(input) || input.length === 0) problems.push('steps: takes a list of at least one step')
  const seen = new Map<string, number>()
  for (const [index, step] of (Array.isArray(input) ? (input as readonly Step[]) : []).entries()) {
    const path = `steps[${index}]`
    if (typeof step !== 'object' || step === null) {
      problems.push(`${path}: takes an object with an operation and a function run`)
      continue
    }
    const name = step.name || step.operation
    if (!isNonEmptyString(step.operation)) problems.push(`${path}.operation: takes a text that is not empty`)
    if (step.name !== undefined && typeof step.name !== 'string') problems.push(`${path}.name: takes a text`)
    if (typeof step.run !== 'function') problems.push(`${path}.run: takes a function`)
    if (step.fallback !== undefined && typeof step.fallback !== 'function')
      problems.push(`${path}.fallback: takes a function`)
    const first = seen.get(name)
    if (first !== undefined && isNonEmptyString(name))
      problems.push(
        `${path}: is called ${JSON.stringify(name)} like steps[${first}]; give each a name of its own`,
      )
    else seen.set(name, index)
  }
  if (problems.length > 0)
    throw new HoldfastError('INVALID_OPTIONS', `a pipeline cannot be made: ${problems.join('; ')}`, {
      details: problems,
    })
  return input.map((step) => ({
    ...step,
    name: step.name || step.operation,
    run: step.run.bind(step),
    fallback: step.fallback?.bind(step),
  }))
}
