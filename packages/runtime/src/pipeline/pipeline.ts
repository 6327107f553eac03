import { abortable, type Check, callable, check, count, text } from '../check.js'
import type { DeadLetters } from '../dead-letters/dead-letters.js'
import type { Run } from '../face.js'
import { chance } from '../ids.js'
import type { Kit } from '../kit.js'
import { Course, type Traveller } from './course.js'
import { type Rest, resumer } from './resume.js'
import { type NamedStep, readSteps, type Step } from './step.js'

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

const OPTIONS = {
  concurrency: count,
  signal: abortable,
  itemId: callable,
  idempotencyKey: callable,
  onProgress: callable,
}

type Items<I> = Iterable<I> | AsyncIterable<I>

/** What begins an iteration; undefined for what cannot be iterated over. */
function beginningOf<I>(items: Items<I>): (() => Iterator<I> | AsyncIterator<I>) | undefined {
  const source = Object(items) as Partial<Iterable<I> & AsyncIterable<I>>
  return source[Symbol.asyncIterator] ?? source[Symbol.iterator]
}

const iterable: Check = [
  'a list, or anything to iterate over',
  (value) => typeof beginningOf(value as Items<unknown>) === 'function',
]

/** What was given, unless it is an empty text, which says nothing. */
const orMade = (given: string, made: string): string => (given === '' ? made : given)

/** What an item calls itself. */
function nameOf(item: unknown, index: number): string {
  const named = typeof item === 'object' && item !== null ? (item as { id?: unknown }).id : item
  const said = typeof named === 'string' || typeof named === 'number' ? String(named) : ''
  return said === '' ? `item-${index}` : said
}

/** All pipelines of a runtime: they know whose replay goes on where. */
export class Pipelines {
  private readonly rests = new Map<string, Map<string, Rest>>()
  private readonly kit: Kit
  private readonly deadLetters: DeadLetters
  private readonly course: Course
  private made = 0

  constructor(kit: Kit, run: Run, deadLetters: DeadLetters) {
    this.kit = kit
    this.deadLetters = deadLetters
    this.course = new Course(run, deadLetters)
  }

  /**
   * Makes a pipeline. From then on this process replays what fails in its steps; of two pipelines with a step of the same
   * name under the same operation the later one does.
   *
   * @throws INVALID_OPTIONS
   */
  make(given: readonly Step[]): Pipeline {
    const steps = readSteps(given)
    for (const [place, { name, operation }] of steps.entries()) {
      const rests = this.rests.get(operation) ?? new Map<string, Rest>()
      this.rests.set(operation, rests)
      rests.set(name, steps.slice(place) as unknown as Rest)
      this.deadLetters.register(
        operation,
        resumer(this.course, (step) => rests.get(step), operation),
      )
    }
    return { run: async (items, options = {}) => this.run(steps, items, options) }
  }

  private async run<I>(
    steps: readonly NamedStep[],
    items: Items<I>,
    options: PipelineOptions<I>,
  ): Promise<PipelineResult> {
    check('a pipeline cannot run', { items }, { items: iterable })
    check('a pipeline cannot run', options, {}, OPTIONS)
    const { signal, concurrency = 8 } = options
    const source = (beginningOf(items) as () => Iterator<I> | AsyncIterator<I>).call(items)
    const result: PipelineResult = { succeeded: 0, failed: 0, skipped: 0, items: [] }
    let count = 0
    let done = false
    const lane = async () => {
      while (!done && signal?.aborted !== true) {
        try {
          const next = await source.next()
          if (next.done) {
            done = true
            return
          }
          const index = count++
          const item = await this.travel(steps, next.value, index, options)
          result.items[index] = item
          result[item.status]++
          this.tell(options, { succeeded: result.succeeded, failed: result.failed, item })
        } catch (error) {
          done = true
          throw error
        }
      }
    }
    const lanes = await Promise.allSettled(Array.from({ length: concurrency }, lane))
    if (signal?.aborted) await source.return?.()
    const broken = lanes.find((each) => each.status === 'rejected')
    if (broken !== undefined) throw broken.reason
    return result
  }

  private async travel<I>(
    steps: readonly NamedStep[],
    item: I,
    index: number,
    { itemId, idempotencyKey, signal }: PipelineOptions<I>,
  ): Promise<PipelineItem> {
    const unique = `${chance(this.kit.random, 10)}${(this.made++).toString(36)}`
    let traveller: Traveller = {
      item,
      itemId: nameOf(item, index),
      key: `pip_${unique}`,
      correlationId: `pip_${unique}`,
    }
    try {
      if (itemId !== undefined)
        traveller = { ...traveller, itemId: orMade(itemId(item, index), traveller.itemId) }
      if (idempotencyKey !== undefined)
        traveller = { ...traveller, key: orMade(idempotencyKey(item, index), traveller.key) }
      const { itemId: named, key } = traveller
      check(`item ${index} cannot be run`, { itemId: named, key }, { itemId: text, key: text })
    } catch (error) {
      // Without a name and a key of its own it could be neither kept nor told from others.
      return { itemId: nameOf(item, index), status: 'failed', error }
    }
    const { end, ...rest } = await this.course.pass(steps, traveller, item, signal)
    return { itemId: traveller.itemId, status: end, ...rest } as PipelineItem
  }

  private tell<I>({ onProgress }: PipelineOptions<I>, progress: PipelineProgress): void {
    try {
      onProgress?.(progress)
    } catch (thrown) {
      this.kit.complain(`onProgress of a pipeline threw, and is ignored: ${String(thrown)}`)
    }
  }
}
