import { isDeepStrictEqual } from 'node:util'
import type { DeadLetter } from '@holdfast/records'
import { Violation } from '../engine/violation.js'
import { expectEqual, format, type HistoryContext, type HistoryPart } from './history-part.js'
import { ProcessedModel } from './processed-model.js'
import { type PlannedChange, QueueChanges } from './queue-changes.js'
import { QueueReads } from './queue-reads.js'
import { isHeld, type ModelEntry, readFields, visibleFields } from './queue-rules.js'
import type { Outcome, StoreProcess } from './store-machine.js'
import { StoredState } from './stored-state.js'

/** A naive client of the dead letters of a store. */
export class QueueHistory implements HistoryPart {
  readonly name = 'deadLetters'
  private readonly context: HistoryContext
  private readonly states = new Map<string, StoredState<ModelEntry | undefined>>()
  private readonly processed: ProcessedModel
  private recentIds: ReadonlySet<string> = new Set()
  private readonly reads: QueueReads
  private readonly changes: QueueChanges

  constructor(context: HistoryContext) {
    this.context = context
    this.processed = new ProcessedModel(context)
    this.reads = new QueueReads(context)
    this.changes = new QueueChanges(context.choices)
  }

  losePower(): void {
    for (const state of this.states.values()) state.losePower()
    this.processed.losePower()
  }

  async step(process: StoreProcess): Promise<void> {
    const { choices } = this.context
    const entries = this.entries()
    const now = this.pickTime()
    const { canRepeatCalls = false } = this.context.machine
    if (choices.chance(canRepeatCalls ? 0.1 : 0.3))
      return this.reads.step(process, [...entries.values()], now)
    if (choices.chance(0.08)) return this.processed.deleteOld(process, (id) => entries.has(id))
    // A change that is repeated can follow one that was made after it, which no order of the calls explains.
    const count = canRepeatCalls ? 1 : choices.pick([1, 1, 2, 3])
    const recent = [...this.recentIds].flatMap((id) => entries.get(id) ?? [])
    // Entries with a lease have the most changes that must not be repeated.
    const held = [...entries.values()].filter((entry) => isHeld(entry, now))
    const isAboutHeld = canRepeatCalls && held.length > 0 && choices.chance(0.8)
    const [subjects, preferred] = isAboutHeld ? [held, held] : [[...entries.values()], recent]
    const changes = Array.from({ length: count }, () =>
      this.changes.plan(subjects, now, count === 1, preferred),
    )
    await this.makeChanges(process, changes)
  }

  /** Makes changes in one turn of the event loop, so that the store can make them together. They must have their effects in order. */
  private async makeChanges(process: StoreProcess, changes: readonly PlannedChange[]): Promise<void> {
    const { machine } = this.context
    /** The entries that the store can have: a change that failed was made or not. A power failure during the calls changes the states. */
    let possible: ReadonlyMap<string, ModelEntry>[] = [this.entries()]
    const outcomes = await Promise.all(
      changes.map((change) =>
        machine.run(
          process,
          ({ deadLetters }) => change.call(deadLetters),
          () => this.rejectLate(change.what),
        ),
      ),
    )
    for (const [at, { what }] of changes.entries())
      this.context.trace(`${process.name} ${what}: ${outcomes[at]?.kind}`)
    const attempts = new Map<string, (ModelEntry | undefined)[]>()
    const failedIds = new Set<string>()
    for (const [at, change] of changes.entries()) {
      const outcome = outcomes[at] as Outcome<unknown>
      let applied = possible.map((entries) => ({ ...change.apply(entries), entries }))
      if (outcome.kind === 'ok') {
        const got = readResult(outcome.value)
        const matching = applied.filter(({ result, entries, changed }) => {
          if (isDeepStrictEqual(result, got)) return true
          const canRepeat = machine.canRepeatCalls && change.isRepeatable
          return canRepeat && isDeepStrictEqual(change.apply(withChanges(entries, changed)).result, got)
        })
        const before = changes.slice(0, at).map(({ what }) => ` after ${what}`)
        if (matching.length === 0)
          expectEqual(this.context, 'queue', change.what + before.join(''), got, applied[0]?.result)
        else applied = matching
        if (applied.length === 1) for (const id of applied[0]?.confirmed ?? []) this.states.get(id)?.confirm()
      }
      for (const { changed } of applied)
        for (const [id, entry] of changed) {
          attempts.set(id, [...(attempts.get(id) ?? []), entry])
          if (outcome.kind !== 'ok' || applied.length > 1) failedIds.add(id)
        }
      const made = applied.map(({ entries, changed }) => withChanges(entries, changed))
      possible = outcome.kind === 'ok' ? made : [...possible, ...made]
    }
    for (const [id, values] of attempts) this.onChanged(id, values, !failedIds.has(id))
    if (attempts.size > 0) this.recentIds = new Set(attempts.keys())
  }

  private rejectLate(what: string): void {
    const text = `${what} was acknowledged, although another process took over the lock meanwhile`
    this.context.report(new Violation('fence', text))
  }

  private onChanged(id: string, values: readonly (ModelEntry | undefined)[], isAcknowledged: boolean): void {
    let state = this.states.get(id)
    if (state === undefined) {
      state = new StoredState<ModelEntry | undefined>(undefined)
      this.states.set(id, state)
    }
    if (isAcknowledged) state.acknowledge(values.at(-1))
    else state.attempt(...values)
    const completed = values.find((value) => value?.status === 'completed')
    if (completed !== undefined) this.processed.onCompleted(completed, isAcknowledged)
  }

  async resolve(process: StoreProcess): Promise<void> {
    for (const [id, state] of this.states) if (!state.isCertain) await this.resolveEntry(process, id, state)
    await this.processed.resolve(process, this.entries())
  }

  private async resolveEntry(
    process: StoreProcess,
    id: string,
    state: StoredState<ModelEntry | undefined>,
  ): Promise<void> {
    const { machine, report } = this.context
    // At this time every lease is held, so that one that has expired is visible.
    const outcome = await machine.run(process, ({ deadLetters }) => deadLetters.get(id, new Date(0)))
    if (outcome.kind !== 'ok') return
    const got = outcome.value && readFields(outcome.value)
    if (!state.observe((value) => isDeepStrictEqual(got, value && visibleFields(value))))
      return report(
        new Violation(
          'queue',
          `after a failure the store has ${id} as ${format(got)}, expected one of ${format(state.values)}`,
        ),
      )
    if (state.isCertain) return
    // The states differ only in the owner of the lease, which cannot be read. The entry is not used any more.
    const purged = await machine.run(process, ({ deadLetters }) =>
      deadLetters.purge({ ids: [id] }, new Date(8.64e15)),
    )
    if (purged.kind === 'ok') state.acknowledge(undefined)
  }

  private entries(): Map<string, ModelEntry> {
    const entries = new Map<string, ModelEntry>()
    for (const [id, { value }] of this.states) if (value !== undefined) entries.set(id, value)
    return entries
  }

  /** The time of now, or one at the end of a lease. */
  private pickTime(): number {
    const { choices, clock } = this.context
    const leases = [...this.entries().values()].flatMap(({ leasedUntil }) => leasedUntil ?? [])
    return leases.length > 0 && choices.chance(0.5)
      ? choices.pick(leases) + choices.pick([-1, 0, 0, 1])
      : clock.now
  }
}

const isDeadLetter = (value: unknown): value is DeadLetter => Object(value).dlqId !== undefined

/** A result of the store in the form of the model. */
function readResult(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(readResult)
  if (isDeadLetter(value)) return readFields(value)
  if (value instanceof Date) return value.getTime()
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, readResult(field)]))
}

/** Entries after a change of some of them. */
function withChanges(
  entries: ReadonlyMap<string, ModelEntry>,
  changed: ReadonlyMap<string, ModelEntry | undefined>,
): ReadonlyMap<string, ModelEntry> {
  const result = new Map(entries)
  for (const [id, entry] of changed) {
    if (entry === undefined) result.delete(id)
    else result.set(id, entry)
  }
  return result
}
