import type { Attempt } from 'holdfast'
import { createOptionsError, createProblem, type OptionProblem, optionProblem } from 'holdfast/internal'
import type { CallOptions } from '../api-types.js'
import type { OperationName } from '../operations.js'

/** The second argument of a step. */
export interface StepContext {
  /** The item as it entered the pipeline. */
  readonly item: unknown
  /** The id of the item. */
  readonly itemId: string
  /** The number of the attempt at this step, from 1. */
  readonly attempt: number
  /** Aborted when a deadline passes or the pipeline is stopped. */
  readonly signal: AbortSignal
  /** The pool member of this attempt, if the step has a pool. */
  readonly member: Attempt['member']
  /**
   * The same for every attempt at this step of this item, including replays. Pass it to targets that support idempotency
   * keys.
   */
  readonly idempotencyKey: string
  /** Adds data to the attempt's record. */
  note(context: object): void
}

/** The second argument of a step's fallback. */
export interface StepFallbackContext {
  /** The item as it was given to the pipeline. */
  readonly item: unknown
  /** The id of the item. */
  readonly itemId: string
  /** The input of the step. */
  readonly value: unknown
}

/** One step of a pipeline. Its input and output must be JSON, so that the item can be stored when the step fails. */
export interface Step extends Pick<CallOptions, 'service' | 'pool' | 'policy'> {
  /** The operation of the step, with its policy, breaker and dead letters. */
  operation: OperationName
  /** The name of the step, unique in its pipeline. @defaultValue the operation */
  name?: string | undefined
  /**
   * Runs the step with the value of the previous step, or with the item in the first step. It must not change its input.
   */
  run(value: never, context: StepContext): unknown
  /** Returns a value in place of the error. If it throws, the step has failed. */
  fallback?: ((error: unknown, context: StepFallbackContext) => unknown) | undefined
}

/** A step with its name. */
export type NamedStep = Step & { readonly name: string }

const isNonEmptyString = (value: unknown) => typeof value === 'string' && value !== ''

/** @throws INVALID_OPTIONS that lists all problems of the steps */
export function parseSteps(input: readonly Step[]): readonly NamedStep[] {
  const problems: OptionProblem[] = []
  if (!Array.isArray(input) || input.length === 0)
    problems.push(optionProblem('steps', 'an array of at least one step', input))
  const seen = new Map<string, number>()
  for (const [index, step] of (Array.isArray(input) ? (input as readonly Step[]) : []).entries()) {
    const path = `steps[${index}]`
    if (typeof step !== 'object' || step === null) {
      problems.push(optionProblem(path, 'an object with an operation and a function run', step))
      continue
    }
    const name = step.name || step.operation
    if (!isNonEmptyString(step.operation))
      problems.push(optionProblem(`${path}.operation`, 'a string that is not empty', step.operation))
    if (step.name !== undefined && typeof step.name !== 'string')
      problems.push(optionProblem(`${path}.name`, 'a string', step.name))
    if (typeof step.run !== 'function') problems.push(optionProblem(`${path}.run`, 'a function', step.run))
    if (step.fallback !== undefined && typeof step.fallback !== 'function')
      problems.push(optionProblem(`${path}.fallback`, 'a function', step.fallback))
    const first = seen.get(name)
    if (first !== undefined && isNonEmptyString(name))
      problems.push(
        createProblem(
          `${path}.name`,
          'conflict',
          'a unique name',
          `${JSON.stringify(name)} like steps[${first}]`,
        ),
      )
    else seen.set(name, index)
  }
  if (problems.length > 0) throw createOptionsError('a pipeline cannot be created', problems)
  return input.map((step) => ({
    ...step,
    name: step.name || step.operation,
    run: step.run.bind(step),
    fallback: step.fallback?.bind(step),
  }))
}
