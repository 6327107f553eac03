import { isDeepStrictEqual } from 'node:util'
import type { Store } from '@holdfast/store'
import { Violation } from '../engine/violation.js'
import { expectEqual, format, type HistoryContext, type HistoryPart, otherProcess } from './history-part.js'
import type { Outcome, StoreProcess } from './store-machine.js'
import { StoredState } from './stored-state.js'

/** The share of changes that two processes make at the same time. */
const RACE_SHARE = 0.3

/** A change of rows: their new values, undefined for one that is deleted. */
export interface RowChange {
  readonly what: string
  apply(rows: ReadonlyMap<string, unknown>): RowEffect
  /** What the rows can be if only a part of the change was made. */
  readonly partialRows?: readonly ReadonlyMap<string, unknown>[]
  call(store: Store): Promise<unknown>
}

/** What a change does. */
interface RowEffect {
  readonly rows: ReadonlyMap<string, unknown>
  /** What the call returns. */
  readonly result: unknown
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
  /** Whether a store in files appends the rows as lines. */
  readonly hasLines?: boolean
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
  /** The rows of saves that were not acknowledged. If only the end of a line is missing, a later append to its file brings the row back. */
  private readonly cutRows = new Map<string, unknown>()

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
    const other = otherProcess(this.context, process)
    const canRace = other !== undefined && machine.hasFault !== true && this.cutRows.size === 0
    if (canRace && choices.chance(RACE_SHARE)) return this.race([process, other], change, rows)
    const outcome = await machine.run(process, change.call, () => this.rejectLate(change.what))
    this.context.trace(`${process.name} ${change.what}: ${outcome.kind}`)
    this.onChanged(change, change.apply(rows), outcome)
  }

  /** Two processes make changes at the same time. The results and all rows are those of one of the two orders. */
  private async race(
    [process, other]: readonly [StoreProcess, StoreProcess],
    change: RowChange,
    rows: ReadonlyMap<string, unknown>,
  ): Promise<void> {
    const { machine } = this.context
    const changes = [change, this.kind.planChange(this.context, rows)] as const
    const outcomes = await Promise.all([
      machine.run(process, changes[0].call),
      machine.run(other, changes[1].call),
    ])
    const loaded = await machine.run(process, (store) => this.kind.load(store))
    const what = changes.map((each) => each.what).join(' and at the same time ')
    this.context.trace(`${process.name} and ${other.name} ${what}`)
    const [first, second] = outcomes
    // A violation was reported, because nothing lets a call fail.
    if (first.kind !== 'ok' || second.kind !== 'ok' || loaded.kind !== 'ok') return
    const got = [first.value, second.value]
    const orders = [serialize(changes, rows, false), serialize(changes, rows, true)]
    const possible = orders.filter(({ results }) => isDeepStrictEqual(results, got))
    if (possible.length === 0)
      return this.report(
        `returned ${format(got)} for ${what}, expected ${orders.map(({ results }) => format(results)).join(' or ')}`,
      )
    const stored = withRows(new Map(), loaded.value)
    const order = possible.find((each) => isDeepStrictEqual(each.rows, stored))
    if (order === undefined)
      return this.report(
        `has ${format([...stored])} after ${what}, expected ${possible.map((each) => format([...each.rows])).join(' or ')}`,
      )
    for (const key of order.changedKeys) {
      const state = this.stateOf(key)
      const isChanged = possible.some((each) => !isDeepStrictEqual(each.rows.get(key), state.value))
      if (isChanged) state.acknowledge(order.rows.get(key))
    }
  }

  private stateOf(key: string): StoredState<unknown> {
    const known = this.states.get(key) ?? new StoredState<unknown>(undefined)
    this.states.set(key, known)
    return known
  }

  private onChanged(
    { what, partialRows }: RowChange,
    { rows, result }: RowEffect,
    outcome: Outcome<unknown>,
  ): void {
    for (const [key, value] of this.cutRows) this.stateOf(key).attempt(value)
    if (outcome.kind === 'ok' && outcome.isCountUncertain !== true)
      expectEqual(this.context, this.name, what, outcome.value, result)
    for (const [key, value] of rows) {
      const state = this.stateOf(key)
      if (outcome.kind !== 'ok')
        state.attempt(value, ...(partialRows ?? []).map((partial) => partial.get(key)))
      // A call that changes nothing writes nothing, and does not make an earlier change durable.
      else if (!isDeepStrictEqual(value, state.value)) state.acknowledge(value)
      if (outcome.kind === 'ok') this.cutRows.delete(key)
    }
    const canBeCut = this.kind.hasLines === true && this.context.machine.transactionSize === undefined
    if (canBeCut && outcome.kind !== 'ok')
      for (const [key, value] of rows) if (value !== undefined) this.cutRows.set(key, value)
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
        this.report(`has ${key} as ${format(got)} after a failure, expected one of ${format(state.values)}`)
    }
    for (const key of outcome.value.keys())
      if (!this.states.has(key)) this.report(`has ${key} after a failure, which nothing has stored`)
  }

  private rows(): ReadonlyMap<string, unknown> {
    const rows = new Map<string, unknown>()
    for (const [key, { value }] of this.states) if (value !== undefined) rows.set(key, value)
    return rows
  }

  private report(text: string): void {
    this.context.report(new Violation(this.name, `the store ${text}`))
  }
}

/** The results of two changes, all rows after them, and the keys of those that they change, in one of the two orders. */
function serialize(
  changes: readonly [RowChange, RowChange],
  before: ReadonlyMap<string, unknown>,
  isReversed: boolean,
): {
  readonly results: readonly unknown[]
  readonly rows: ReadonlyMap<string, unknown>
  readonly changedKeys: readonly string[]
} {
  const [first, last] = isReversed ? [changes[1], changes[0]] : changes
  const effect = first.apply(before)
  const between = withRows(before, effect.rows)
  const lastEffect = last.apply(between)
  const results = [effect.result, lastEffect.result]
  return {
    results: isReversed ? results.reverse() : results,
    rows: withRows(between, lastEffect.rows),
    changedKeys: [...effect.rows.keys(), ...lastEffect.rows.keys()],
  }
}

/** Rows after a change of some of them. */
function withRows(
  before: ReadonlyMap<string, unknown>,
  changed: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, unknown> {
  const rows = new Map([...before, ...changed])
  for (const [key, value] of changed) if (value === undefined) rows.delete(key)
  return rows
}
