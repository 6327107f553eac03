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

/** How items are taken through a pipeline. */
export interface PipelineOptions<I = unknown> {
  /** How many items at a time. @defaultValue 8 */
  concurrency?: number | undefined
  /** Begins no further item once it is aborted, and aborts the steps under way. Nothing of that is dead-lettered. */
  signal?: AbortSignal | undefined
  /** What an item is called. @defaultValue its `id` where it has one, itself where it is a text or number, else its place */
  itemId?: ((item: I, index: number) => string) | undefined
  /** What an item's idempotency keys begin with: give one where the same item may be run twice. @defaultValue made */
  idempotencyKey?: ((item: I, index: number) => string) | undefined
  /** Told after each item. */
  onProgress?: ((progress: PipelineProgress) => void) | undefined
}

/** What became of one item. */
export interface PipelineItem {
  readonly itemId: string
  /** `skipped` items were cut short by the signal. */
  readonly status: 'succeeded' | 'failed' | 'skipped'
  /** What the last step gave. */
  readonly value?: unknown
  /** The step that failed, or was cut short. */
  readonly step?: string
  readonly error?: unknown
  /** The dead letter it is kept in; absent where it could not be kept. */
  readonly deadLetterId?: string
}

export interface PipelineProgress {
  readonly succeeded: number
  readonly failed: number
  readonly item: PipelineItem
}

/** What became of all of them. */
export interface PipelineResult {
  succeeded: number
  failed: number
  /** Begun and cut short by the signal. */
  skipped: number
  /** In the order the items came in. */
  items: PipelineItem[]
}

/**
 * Steps that items are taken through, each step under its own operation. One item's failure is no other's.
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
   * Takes items through the steps. Rejects only where the source of items does, after those under way have ended.
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

/** What begins an iteration; undefined for what cannot be iterated over. */
function iteratorFactory<I>(items: ItemSource<I>): (() => Iterator<I> | AsyncIterator<I>) | undefined {
  const source = Object(items) as Partial<Iterable<I> & AsyncIterable<I>>
  return source[Symbol.asyncIterator] ?? source[Symbol.iterator]
}

const anyIterable: OptionCheck = [
  'a list, or anything to iterate over',
  (value) => typeof iteratorFactory(value as ItemSource<unknown>) === 'function',
]

/** What was given, unless it is an empty text, which says nothing. */
const nonEmptyOr = (value: string, fallback: string): string => (value === '' ? fallback : value)

/** What an item calls itself. */
function defaultItemId(item: unknown, index: number): string {
  const ownId = typeof item === 'object' && item !== null ? (item as { id?: unknown }).id : item
  const hasOwnId = typeof ownId === 'string' || typeof ownId === 'number' ? String(ownId) : ''
  return hasOwnId === '' ? `item-${index}` : hasOwnId
}

/** All pipelines of a runtime: they know whose replay goes on where. */
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
   * Makes a pipeline. From then on this process replays what fails in its steps; of two pipelines with a step of the same
   * name under the same operation the later one does.
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
    let done = false
    const worker = async () => {
      while (!done && signal?.aborted !== true) {
        try {
          const next = await source.next()
          if (next.done) {
            done = true
            return
          }
          const index = count++
          const item = await this.runItem(steps, next.value, index, options)
          result.items[index] = item
          result[item.status]++
          this.reportProgress(options, { succeeded: result.succeeded, failed: result.failed, item })
        } catch (error) {
          done = true
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
      // Without a name and a key of its own it could be neither kept nor told from others.
      return { itemId: defaultItemId(item, index), status: 'failed', error }
    }
    const { end, ...remaining } = await this.stepRunner.run(steps, itemContext, item, signal)
    return { itemId: itemContext.itemId, status: end, ...remaining } as PipelineItem
  }

  private reportProgress<I>({ onProgress }: PipelineOptions<I>, progress: PipelineProgress): void {
    try {
      onProgress?.(progress)
    } catch (thrown) {
      this.runtime.warn(`onProgress of a pipeline threw, and is ignored: ${String(thrown)}`)
    }
  }
}
