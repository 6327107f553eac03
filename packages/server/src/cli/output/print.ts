import type { CommandContext } from '../context/context.js'
import { formatTable } from './table.js'

/** A list as a command prints it: rows for people, records for machines. */
export interface Listing<T> {
  readonly items: readonly T[]
  readonly head: readonly string[]
  row(item: T): readonly unknown[]
  /** What is said where there are none. */
  readonly emptyMessage: string
  /** Whether there are more than these. */
  readonly hasMore?: boolean
}

/** One record as JSON, in the wire's spelling. */
export const printJson = ({ io }: CommandContext, value: unknown): void =>
  io.out(`${JSON.stringify(value, null, io.isTerminal ? 2 : 0)}\n`)

/** A list: a table, or `{ items }`. */
export function printList<T>(
  context: CommandContext,
  { items, head, row, emptyMessage, hasMore }: Listing<T>,
): void {
  const { io, globalOptions } = context
  if (globalOptions.json) return printJson(context, { items })
  if (items.length === 0) io.err(`${emptyMessage}\n`)
  else io.out(formatTable(io, head, items.map(row)))
  if (hasMore) io.err('there are more: --limit N shows more of them\n')
}
