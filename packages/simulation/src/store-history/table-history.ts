import { isDeepStrictEqual } from 'node:util'
import type { Store } from '@holdfast/store'
import { Violation } from '../engine/violation.js'
import { expectEqual, format, type HistoryContext, type HistoryPart } from './history-part.js'
import type { Outcome, StoreProcess } from './store-machine.js'
import { StoredState } from './stored-state.js'

/** A change of rows: their new values, undefined for one that is deleted. */
export interface RowChange {
  readonly what: string
  readonly rows: ReadonlyMap<string, unknown>
  /** What the rows can be if only a part of the change was made. */
  readonly partialRows?: readonly ReadonlyMap<string, unknown>[]
  /** What the call returns. */
  readonly result: unknown
  call(store: Store): Promise<unknown>
}

/** A read of rows: what the call returns for them. */
interface RowRead {
  readonly what: string
  readonly result: unknown
  call(store: Store): Promise<unknown>
}

/** A table of a store whose rows have keys. */
export interface TableKind {
  readonly name: string
  planChange(context: HistoryContext, rows: ReadonlyMap<string, unknown>): RowChange
  planRead(context: HistoryContext, rows: ReadonlyMap<string, unknown>): RowRead
  /** Reads all rows. */
  load(store: Store): Promise<ReadonlyMap<string, unknown>>
}

/** A naive client of a table. Each row has its old or its new value after a failure. */
export class TableHistory implements HistoryPart {
  readonly name: string
  private readonly kind: TableKind
  private readonly context: HistoryContext
  private readonly states = new Map<string, StoredState<unknown>>()

  constructor(kind: TableKind, context: HistoryContext) {
    this.kind = kind
    this.name = kind.name
    this.context = context
  }

  losePower(): void {
    for (const state of this.states.values()) state.losePower()
  }

  async step(process: StoreProcess): Promise<void> {
    const { machine, choices } = this.context
    const rows = this.rows()
    if (choices.chance(0.3)) {
      const { what, result, call } = this.kind.planRead(this.context, rows)
      const outcome = await machine.run(process, call)
      if (outcome.kind === 'ok') expectEqual(this.context, this.name, what, outcome.value, result)
      return
    }
    const change = this.kind.planChange(this.context, rows)
    const outcome = await machine.run(process, change.call, () => this.rejectLate(change.what))
    this.context.trace(`${process.name} ${change.what}: ${outcome.kind}`)
    this.onChanged(change, outcome)
  }

  private onChanged({ what, rows, partialRows, result }: RowChange, outcome: Outcome<unknown>): void {
    if (outcome.kind === 'ok') expectEqual(this.context, this.name, what, outcome.value, result)
    for (const [key, value] of rows) {
      let state = this.states.get(key)
      if (state === undefined) {
        state = new StoredState<unknown>(undefined)
        this.states.set(key, state)
      }
      if (outcome.kind !== 'ok')
        state.attempt(value, ...(partialRows ?? []).map((partial) => partial.get(key)))
      // A call that changes nothing writes nothing, and does not make an earlier change durable.
      else if (!isDeepStrictEqual(value, state.value)) state.acknowledge(value)
    }
  }

  private rejectLate(what: string): void {
    const text = `${what} was acknowledged, although another process took over the lock meanwhile`
    this.context.report(new Violation('fence', text))
  }

  async resolve(process: StoreProcess): Promise<void> {
    if ([...this.states.values()].every(({ isCertain }) => isCertain)) return
    const outcome = await this.context.machine.run(process, (store) => this.kind.load(store))
    if (outcome.kind !== 'ok') return
    for (const [key, state] of this.states) {
      const got = outcome.value.get(key)
      if (!state.observe((value) => isDeepStrictEqual(value, got)))
        this.report(`has ${key} as ${format(got)}, expected one of ${format(state.values)}`)
    }
    for (const key of outcome.value.keys())
      if (!this.states.has(key)) this.report(`has ${key}, which nothing has stored`)
  }

  private rows(): ReadonlyMap<string, unknown> {
    const rows = new Map<string, unknown>()
    for (const [key, { value }] of this.states) if (value !== undefined) rows.set(key, value)
    return rows
  }

  private report(text: string): void {
    this.context.report(new Violation(this.name, `after a failure the store ${text}`))
  }
}
