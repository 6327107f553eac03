import type { CommandContext } from '../context/context.js'
import { formatTable } from './table.js'

/** A list that is printed as a table, or as JSON with `--json`. */
export interface Listing<T> {
  readonly items: readonly T[]
  readonly head: readonly string[]
  row(item: T): readonly unknown[]
  /** The message for an empty list. */
  readonly emptyMessage: string
  /** Whether the list is longer than `items`. */
  readonly hasMore?: boolean
}

/** Prints a value as JSON. */
export const printJson = ({ io }: CommandContext, value: unknown): void =>
  io.out(`${JSON.stringify(value, null, io.isTerminal ? 2 : 0)}\n`)

/** Prints a list as a table, or as `{ items }` with `--json`. */
export function printList<T>(
  context: CommandContext,
  { items, head, row, emptyMessage, hasMore }: Listing<T>,
): void {
  const { io, globalOptions } = context
  if (globalOptions.json) return printJson(context, { items })
  if (items.length === 0) io.err(`${emptyMessage}\n`)
  else io.out(formatTable(io, head, items.map(row)))
  if (hasMore) io.err('more rows are available: use --limit N\n')
}
