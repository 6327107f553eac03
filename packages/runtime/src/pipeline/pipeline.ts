import type { RuntimeContext } from '@holdfast/config'
import {
  abortSignal,
  anyFunction,
  checkOptions,
  nonEmptyString,
  type OptionCheck,
  positiveInteger,
  randomString,
} from '@holdfast/records'
import type { Run } from '../api-types.js'
import type { DeadLetters } from '../dead-letters/dead-letters.js'
import { createReplayer, type RemainingSteps } from './replayer.js'
import { type NamedStep, parseSteps, type Step } from './step.js'
import { type ItemContext, StepRunner } from './step-runner.js'

/** The options of a pipeline run. */
export interface PipelineOptions<I = unknown> {
  /** The number of concurrent items. @defaultValue 8 */
  concurrency?: number | undefined
  /** Once aborted, no further item is started and the active steps are aborted. None of them becomes a dead letter. */
  signal?: AbortSignal | undefined
  /**
   * The id of an item. @defaultValue its `id` if it has one, the item itself if it is a string or number, else its index
   */
  itemId?: ((item: I, index: number) => string) | undefined
  /** The prefix of an item's idempotency keys. Set it if the same item may run twice. @defaultValue a random prefix */
  idempotencyKey?: ((item: I, index: number) => string) | undefined
  /** Called after each item. */
  onProgress?: ((progress: PipelineProgress) => void) | undefined
}

/** The result of one item. */
export interface PipelineItem {
  /** The id of the item. */
  readonly itemId: string
  /** `skipped` items were interrupted by the signal. */
  readonly status: 'succeeded' | 'failed' | 'skipped'
  /** The value of the last step. */
  readonly value?: unknown
  /** The step that failed or was interrupted. */
  readonly step?: string
  /** The error of the step that failed. */
  readonly error?: unknown
  /** The id of its dead letter; absent if it could not be stored. */
  readonly deadLetterId?: string
}

/** The progress of a pipeline run, after each item. */
export interface PipelineProgress {
  /** The number of items that succeeded so far. */
  readonly succeeded: number
  /** The number of items that failed so far. */
  readonly failed: number
  /** The item that ended. */
  readonly item: PipelineItem
}

/** The result of all items. */
export interface PipelineResult {
  /** The number of items that succeeded. */
  succeeded: number
  /** The number of items that failed. */
  failed: number
  /** Items that were started and interrupted by the signal. */
  skipped: number
  /** In the order of the input. */
  items: PipelineItem[]
}

/**
 * Passes items through steps. Each step has its own operation, and a failed item does not affect other items.
 *
 * @example
 * ```ts
 * import { Holdfast } from '@holdfast/runtime'
 *
 * const hf = await Holdfast.open()
 * const pipeline = hf.pipeline([
 *   { operation: 'read', run: (text: string) => Number(text) },
 *   { operation: 'double', run: (number: number) => number * 2 },
 * ])
 * const { succeeded, items } = await pipeline.run(['1', '2'])
 * succeeded // => 2
 * items.map(({ itemId, value }) => [itemId, value]) // => [['1', 2], ['2', 4]]
 * await hf.close()
 * ```
 */
export interface Pipeline {
  /**
   * Runs items through the steps. Rejects only if the source of items fails, after the active items have ended.
   *
   * @throws INVALID_OPTIONS
   */
  run<I>(items: Iterable<I> | AsyncIterable<I>, options?: PipelineOptions<I>): Promise<PipelineResult>
}

const OPTION_CHECKS = {
  concurrency: positiveInteger,
  signal: abortSignal,
  itemId: anyFunction,
  idempotencyKey: anyFunction,
  onProgress: anyFunction,
}

type ItemSource<I> = Iterable<I> | AsyncIterable<I>

/** Returns a function that starts an iteration; undefined for a value that is not iterable. */
function iteratorFactory<I>(items: ItemSource<I>): (() => Iterator<I> | AsyncIterator<I>) | undefined {
  const source = Object(items) as Partial<Iterable<I> & AsyncIterable<I>>
  return source[Symbol.asyncIterator] ?? source[Symbol.iterator]
}

const anyIterable: OptionCheck = [
  'a list, or anything to iterate over',
  (value) => typeof iteratorFactory(value as ItemSource<unknown>) === 'function',
]

/** The value, or the fallback for an empty string. */
const nonEmptyOr = (value: string, fallback: string): string => (value === '' ? fallback : value)

/** The default id of an item. */
function defaultItemId(item: unknown, index: number): string {
  const ownId = typeof item === 'object' && item !== null ? (item as { id?: unknown }).id : item
  const hasOwnId = typeof ownId === 'string' || typeof ownId === 'number' ? String(ownId) : ''
  return hasOwnId === '' ? `item-${index}` : hasOwnId
}

/** Creates the pipelines of a runtime, and keeps the steps by which a replay continues. */
export class PipelineFactory {
  private readonly remainingSteps = new Map<string, Map<string, RemainingSteps>>()
  private readonly runtime: RuntimeContext
  private readonly deadLetters: DeadLetters
  private readonly stepRunner: StepRunner
  private createdCount = 0

  constructor(runtime: RuntimeContext, run: Run, deadLetters: DeadLetters) {
    this.runtime = runtime
    this.deadLetters = deadLetters
    this.stepRunner = new StepRunner(run, deadLetters)
  }

  /**
   * Creates a pipeline. From then on this process replays failed items of its steps. If two pipelines have a step of the
   * same name under the same operation, the later pipeline replays it.
   *
   * @throws INVALID_OPTIONS
   */
  createPipeline(input: readonly Step[]): Pipeline {
    const steps = parseSteps(input)
    for (const [index, { name, operation }] of steps.entries()) {
      const remainingByStep = this.remainingSteps.get(operation) ?? new Map<string, RemainingSteps>()
      this.remainingSteps.set(operation, remainingByStep)
      remainingByStep.set(name, steps.slice(index) as unknown as RemainingSteps)
      this.deadLetters.register(
        operation,
        createReplayer(this.stepRunner, (step) => remainingByStep.get(step), operation),
      )
    }
    return { run: async (items, options = {}) => this.runItems(steps, items, options) }
  }

  /** Resolves when the items that are being processed have ended. */
  whenSettled(): Promise<void> {
    return this.stepRunner.whenSettled()
  }

  private async runItems<I>(
    steps: readonly NamedStep[],
    items: ItemSource<I>,
    options: PipelineOptions<I>,
  ): Promise<PipelineResult> {
    checkOptions('a pipeline cannot run', { items }, { items: anyIterable })
    checkOptions('a pipeline cannot run', options, {}, OPTION_CHECKS)
    const { signal, concurrency = 8 } = options
    const source = (iteratorFactory(items) as () => Iterator<I> | AsyncIterator<I>).call(items)
    const result: PipelineResult = { succeeded: 0, failed: 0, skipped: 0, items: [] }
    let count = 0
    let isDone = false
    const worker = async () => {
      while (!isDone && signal?.aborted !== true) {
        try {
          const next = await source.next()
          if (next.done) {
            isDone = true
            return
          }
          const index = count++
          const item = await this.runItem(steps, next.value, index, options)
          result.items[index] = item
          result[item.status]++
          this.reportProgress(options, { succeeded: result.succeeded, failed: result.failed, item })
        } catch (error) {
          isDone = true
          throw error
        }
      }
    }
    const workers = await Promise.allSettled(Array.from({ length: concurrency }, worker))
    if (signal?.aborted) await source.return?.()
    const failedWorker = workers.find((each) => each.status === 'rejected')
    if (failedWorker !== undefined) throw failedWorker.reason
    return result
  }

  private async runItem<I>(
    steps: readonly NamedStep[],
    item: I,
    index: number,
    { itemId, idempotencyKey, signal }: PipelineOptions<I>,
  ): Promise<PipelineItem> {
    const unique = `${randomString(this.runtime.random, 10)}${(this.createdCount++).toString(36)}`
    let itemContext: ItemContext = {
      item,
      itemId: defaultItemId(item, index),
      key: `pip_${unique}`,
      correlationId: `pip_${unique}`,
    }
    try {
      if (itemId !== undefined)
        itemContext = { ...itemContext, itemId: nonEmptyOr(itemId(item, index), itemContext.itemId) }
      if (idempotencyKey !== undefined)
        itemContext = { ...itemContext, key: nonEmptyOr(idempotencyKey(item, index), itemContext.key) }
      const { itemId: named, key } = itemContext
      checkOptions(
        `item ${index} cannot be run`,
        { itemId: named, key },
        { itemId: nonEmptyString, key: nonEmptyString },
      )
    } catch (error) {
      // Without an id and a key the item can be neither stored nor identified.
      return { itemId: defaultItemId(item, index), status: 'failed', error }
    }
    const { end, ...remaining } = await this.stepRunner.run(steps, itemContext, item, signal)
    return { itemId: itemContext.itemId, status: end, ...remaining } as PipelineItem
  }

  private reportProgress<I>({ onProgress }: PipelineOptions<I>, progress: PipelineProgress): void {
    try {
      onProgress?.(progress)
    } catch (thrown) {
      this.runtime.warn(`onProgress of a pipeline threw an error, which is ignored: ${String(thrown)}`)
    }
  }
}
