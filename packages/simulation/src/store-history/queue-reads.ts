import type { DeadLetter } from '@holdfast/records'
import type { DeadLetterStore } from '@holdfast/store'
import { expectEqual, format, type HistoryContext } from './history-part.js'
import { type ModelEntry, readFields, viewOf, visibleFields } from './queue-rules.js'
import { countStatuses, planFilter, selectEntries, statsOf } from './queue-selection.js'
import type { StoreProcess } from './store-machine.js'

/** Reads the dead letters of a store in all ways, and compares them with what it has. */
export class QueueReads {
  private readonly context: HistoryContext

  constructor(context: HistoryContext) {
    this.context = context
  }

  async step(process: StoreProcess, entries: readonly ModelEntry[], now: number): Promise<void> {
    const { choices } = this.context
    const filter = planFilter(choices, entries)
    const at = new Date(now)
    const views = (found: readonly ModelEntry[]) => found.map((entry) => visibleFields(viewOf(entry, now)))
    switch (choices.below(5)) {
      case 0:
        return this.read(
          process,
          `count of ${format(filter)}`,
          (queue) => queue.count(filter, at),
          countStatuses(selectEntries(entries, filter, now), now),
        )
      case 1:
        return this.read(process, 'stats', (queue) => queue.stats(at), statsOf(entries, now))
      case 2: {
        const entry = entries.length > 0 && choices.chance(0.8) ? choices.pick(entries) : undefined
        const id = entry?.id ?? 'dlq-unknown'
        const get = async (queue: DeadLetterStore) => {
          const found = await queue.get(id, at)
          return found && readFields(found)
        }
        return this.read(process, `get of ${id}`, get, entry && visibleFields(viewOf(entry, now)))
      }
      default: {
        const limit = choices.pick([1, 2, 3, 100])
        const order = choices.pick(['oldest', 'newest', undefined] as const)
        const found = selectEntries(entries, filter, now)
        if (order === 'newest') found.reverse()
        const pages = Array.from({ length: Math.max(1, Math.ceil(found.length / limit)) }, (_, page) =>
          views(found.slice(page * limit, (page + 1) * limit)),
        )
        const options = { ...filter, limit, ...(order !== undefined && { order }) }
        return this.read(
          process,
          `list of ${format(options)}`,
          (queue) => readPages(queue, options, at),
          pages,
        )
      }
    }
  }

  private async read(
    process: StoreProcess,
    what: string,
    call: (queue: DeadLetterStore) => Promise<unknown>,
    wanted: unknown,
  ): Promise<void> {
    const outcome = await this.context.machine.run(process, ({ deadLetters }) => call(deadLetters))
    if (outcome.kind === 'ok') expectEqual(this.context, 'queue', what, outcome.value, wanted)
  }
}

/** Reads all pages of a list. */
async function readPages(
  queue: DeadLetterStore,
  options: Parameters<DeadLetterStore['list']>[0],
  now: Date,
): Promise<unknown[]> {
  const pages: unknown[] = []
  let cursor: string | undefined
  do {
    const page: { items: DeadLetter[]; cursor?: string } = await queue.list(
      { ...options, ...(cursor !== undefined && { cursor }) },
      now,
    )
    pages.push(page.items.map(readFields))
    cursor = page.cursor
  } while (cursor !== undefined && pages.length < 100)
  return pages
}
