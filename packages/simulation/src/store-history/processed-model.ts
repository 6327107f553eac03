import { Violation } from '../engine/violation.js'
import { DAY_MS } from './history-clock.js'
import type { HistoryContext } from './history-part.js'
import type { ModelEntry } from './queue-rules.js'
import type { StoreProcess } from './store-machine.js'
import { StoredState } from './stored-state.js'

interface ProcessedId {
  readonly state: StoredState<boolean>
  /** The day of the completion. */
  day: number
}

const dayOf = (time: number): number => Math.floor(time / DAY_MS)

/** The ids of completed entries, which a store keeps after it has deleted the entries. */
export class ProcessedModel {
  private readonly context: HistoryContext
  private readonly ids = new Map<string, ProcessedId>()
  /** Whether a write has failed: then ids can be kept for longer, because the store may not know their days. */
  private hasFailed = false
  /** Whether ids were deleted, so that all others must still be there. */
  private mustReadAll = false

  constructor(context: HistoryContext) {
    this.context = context
  }

  losePower(): void {
    this.hasFailed = true
    for (const { state } of this.ids.values()) state.losePower()
  }

  onCompleted(entry: ModelEntry, isAcknowledged: boolean): void {
    let known = this.ids.get(entry.id)
    if (known === undefined) {
      known = { state: new StoredState(false), day: dayOf(Number(entry.replayedAt)) }
      this.ids.set(entry.id, known)
    }
    if (isAcknowledged) {
      known.day = dayOf(Number(entry.replayedAt))
      known.state.acknowledge(true)
    } else {
      this.hasFailed = true
      // Each of several attempts can be the one that was made, so the id can be deleted after the earliest of their days.
      known.day = Math.min(known.day, dayOf(Number(entry.replayedAt)))
      known.state.attempt(true)
    }
  }

  /** Deletes the ids that were completed before a day and whose entries do not exist any more. */
  async deleteOld(process: StoreProcess, isKept: (id: string) => boolean): Promise<void> {
    const { machine, choices, clock, report } = this.context
    const before = clock.now - choices.pick([0, 1, 2]) * DAY_MS
    const old = [...this.ids].filter(
      ([id, { state, day }]) => state.value && day < dayOf(before) && !isKept(id),
    )
    const outcome = await machine.run(process, ({ deadLetters }) =>
      deadLetters.deleteProcessedIds(new Date(before)),
    )
    if (outcome.kind !== 'ok') this.hasFailed = true
    if (outcome.kind === 'ok' && !this.hasFailed) {
      if (outcome.value !== old.length)
        report(new Violation('queue', `deleteProcessedIds returned ${outcome.value}, expected ${old.length}`))
      for (const [, { state }] of old) state.acknowledge(false)
    } else for (const [, { state }] of old) state.attempt(false)
    this.mustReadAll = true
  }

  /** Reads some ids, and all that are not certain. */
  async resolve(process: StoreProcess, entries: ReadonlyMap<string, ModelEntry>): Promise<void> {
    const { machine, choices, report } = this.context
    for (const [id, { state }] of this.ids) {
      if (state.isCertain && !this.mustReadAll && !choices.chance(0.02)) continue
      const outcome = await machine.run(process, ({ deadLetters }) => deadLetters.isProcessed(id))
      if (outcome.kind !== 'ok') return
      const isProcessed = outcome.value
      const entry = entries.get(id)
      const isWrong = entry !== undefined && isProcessed !== (entry.status === 'completed')
      if (isWrong || !state.observe((value) => value === isProcessed))
        report(
          new Violation(
            'completed',
            `isProcessed of ${id} in the store returned ${isProcessed}, and the entry is ${entry?.status ?? 'deleted'}`,
          ),
        )
    }
    this.mustReadAll = false
  }
}
