import type { WireCount, WireDeadLetter } from '../../wire-types.js'
import { type ApiBackend, fetchList, requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { createUsageError } from '../context/exit.js'
import { printJson, printList } from '../output/print.js'
import { formatInline, formatRelativeTime } from '../output/text.js'

/** The options that select dead letters. */
export interface EntrySelection {
  operation?: string
  status?: readonly string[]
  item?: string
  olderThan?: string
  newerThan?: string
  search?: string
}

const SECONDS_PER_UNIT: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** The time that is the given age ago. */
function parseAge(option: string, age: string | undefined, now: number): string | undefined {
  if (age === undefined) return undefined
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(age) ?? []
  if (amount === undefined)
    throw createUsageError(`${option}: expected a duration such as 30m, 12h or 7d, got ${age}`)
  return new Date(now - Number(amount) * (SECONDS_PER_UNIT[unit] as number) * 1000).toISOString()
}

/** A selection as a query of the API. */
export const toQuery = ({ io }: CommandContext, selection: EntrySelection) => {
  const { operation, status, item, olderThan, newerThan, search } = selection
  return {
    operation,
    item_id: item,
    search,
    from: parseAge('--newer-than', newerThan, io.clock.wall()),
    to: parseAge('--older-than', olderThan, io.clock.wall()),
    ...(status === undefined || status.length === 0 ? {} : { status }),
  }
}

/** A selection in the parameters of the API. */
export type SelectionQuery = ReturnType<typeof toQuery>

/** The number of selected dead letters. */
export const fetchCount = (api: ApiBackend, query: SelectionQuery): Promise<WireCount> =>
  requestJson(api, 'GET', '/dead-letters/count', { query })

/** `dead-letters list`: prints the selected dead letters. */
export async function listEntries(
  context: CommandContext,
  selection: EntrySelection & { limit: number },
): Promise<void> {
  const query = toQuery(context, selection)
  const found = await withApi(context, {}, (api) =>
    fetchList<WireDeadLetter>(api, '/dead-letters', { limit: selection.limit, query }),
  )
  printList(context, {
    ...found,
    head: ['id', 'status', 'operation', 'created', 'error', 'item', 'retries'],
    row: (entry) => [
      entry.dlq_id,
      entry.status,
      entry.operation_type,
      formatRelativeTime(entry.created_at, context.io.clock.wall()),
      `${entry.error_details.error_type}: ${entry.error_details.error_message}`,
      entry.item_id,
      entry.error_details.retry_count,
    ],
    emptyMessage: 'no dead letters found',
  })
}

/** `dead-letters show ID`: prints one dead letter. */
export async function showEntry(context: CommandContext, id: string): Promise<void> {
  const entry = await withApi(context, {}, (api) =>
    requestJson<WireDeadLetter>(api, 'GET', `/dead-letters/${encodeURIComponent(id)}`),
  )
  if (context.globalOptions.json) return printJson(context, entry)
  const { original_payload, edited_payload, error_details, ...fields } = entry
  const width = Math.max(...Object.keys(fields).map((name) => name.length)) + 2
  for (const [name, value] of Object.entries(fields))
    if (value !== null) context.io.out(`${name.padEnd(width)}${formatInline(value)}\n`)
  const indent = (value: unknown) => JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')
  context.io.out(
    `\nerror_details\n  ${indent(error_details)}\n\noriginal_payload\n  ${indent(original_payload)}\n`,
  )
  if (edited_payload != null) context.io.out(`\nedited_payload\n  ${indent(edited_payload)}\n`)
}

/** All selected dead letters, page by page. */
async function* fetchAllEntries(api: ApiBackend, query: SelectionQuery): AsyncGenerator<WireDeadLetter> {
  let cursor: string | undefined
  do {
    const page = await requestJson<{ items: WireDeadLetter[]; cursor?: string }>(
      api,
      'GET',
      '/dead-letters',
      {
        query: { ...query, limit: 500, cursor },
      },
    )
    yield* page.items
    cursor = page.cursor
  } while (cursor !== undefined)
}

/** `dead-letters export`: writes the selected dead letters as JSON lines. */
export async function exportEntries(
  context: CommandContext,
  selection: EntrySelection & { out?: string },
): Promise<void> {
  const { io } = context
  const file =
    selection.out === undefined
      ? undefined
      : await (await import('./write.js')).openFile(context, selection.out)
  let count = 0
  try {
    await withApi(context, {}, async (api) => {
      for await (const entry of fetchAllEntries(api, toQuery(context, selection))) {
        count++
        const line = `${JSON.stringify(entry)}\n`
        if (file === undefined) io.out(line)
        else await file.write(line)
      }
    })
  } finally {
    await file?.close()
  }
  if (selection.out !== undefined) io.err(`${count} dead letters written to ${selection.out}\n`)
}
