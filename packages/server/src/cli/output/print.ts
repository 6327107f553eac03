import type { Context } from '../context.js'
import { table } from './table.js'

/** A list as a command prints it: rows for people, records for machines. */
export interface Listing<T> {
  readonly items: readonly T[]
  readonly head: readonly string[]
  row(item: T): readonly unknown[]
  /** What is said where there are none. */
  readonly none: string
  /** Whether there are more than these. */
  readonly more?: boolean
}

/** One record as JSON, in the wire's spelling. */
export const printJson = ({ io }: Context, value: unknown): void =>
  io.out(`${JSON.stringify(value, null, io.terminal ? 2 : 0)}\n`)

/** A list: a table, or `{ items }`. */
export function printList<T>(context: Context, { items, head, row, none, more }: Listing<T>): void {
  const { io, shared } = context
  if (shared.json) return printJson(context, { items })
  if (items.length === 0) io.err(`${none}\n`)
  else io.out(table(io, head, items.map(row)))
  if (more) io.err('there are more: --limit N shows more of them\n')
}
