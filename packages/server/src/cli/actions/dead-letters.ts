import { type ApiBackend, fetchList, reasonHeader, requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, createUsageError, EXIT_CODES } from '../context/exit.js'
import { printJson, printList } from '../output/print.js'
import { formatInline, formatRelativeTime } from '../output/text.js'

interface WireFailure {
  error_type: string
  error_message: string
}

/** An entry as the wire has it, as far as it is shown. */
export interface WireDeadLetter {
  dlq_id: string
  item_id: string
  operation_type: string
  status: string
  original_payload: unknown
  error_details: WireFailure & { retry_count: number; history?: readonly WireFailure[] }
  created_at: string
  last_attempt: string
  idempotency_key: string
}

/** Which entries. */
export interface EntrySelection {
  operation?: string
  status?: readonly string[]
  item?: string
  olderThan?: string
}

const SECONDS_PER_UNIT: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Entries made before this long ago. */
function parseOlderThan(age: string | undefined, now: number): string | undefined {
  if (age === undefined) return undefined
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(age) ?? []
  if (amount === undefined) throw createUsageError('--older-than: takes a time such as 30m, 12h or 7d')
  return new Date(now - Number(amount) * (SECONDS_PER_UNIT[unit] as number) * 1000).toISOString()
}

/** A choice as the API takes it. */
export const toQuery = ({ io }: CommandContext, { operation, status, item, olderThan }: EntrySelection) => ({
  operation,
  item_id: item,
  to: parseOlderThan(olderThan, io.clock.wall()),
  ...(status === undefined || status.length === 0 ? {} : { status }),
})

/** `dead-letters list`. */
export async function listEntries(
  context: CommandContext,
  choice: EntrySelection & { limit: number },
): Promise<void> {
  const query = toQuery(context, choice)
  const found = await withApi(context, {}, (api) =>
    fetchList<WireDeadLetter>(api, '/dead-letters', { limit: choice.limit, query }),
  )
  printList(context, {
    ...found,
    head: ['id', 'status', 'operation', 'made', 'error', 'item', 'retries'],
    row: (entry) => [
      entry.dlq_id,
      entry.status,
      entry.operation_type,
      formatRelativeTime(entry.created_at, context.io.clock.wall()),
      `${entry.error_details.error_type}: ${entry.error_details.error_message}`,
      entry.item_id,
      entry.error_details.retry_count,
    ],
    emptyMessage: 'there are no such dead letters',
  })
}

/** `dead-letters show ID`. */
export async function showEntry(context: CommandContext, id: string): Promise<void> {
  const entry = await withApi(context, {}, (api) =>
    requestJson<WireDeadLetter>(api, 'GET', `/dead-letters/${encodeURIComponent(id)}`),
  )
  if (context.globalOptions.json) return printJson(context, entry)
  const { original_payload, error_details, ...facts } = entry
  const width = Math.max(...Object.keys(facts).map((name) => name.length)) + 2
  for (const [name, value] of Object.entries(facts))
    if (value !== null) context.io.out(`${name.padEnd(width)}${formatInline(value)}\n`)
  const inset = (value: unknown) => JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')
  context.io.out(
    `\nerror_details\n  ${inset(error_details)}\n\noriginal_payload\n  ${inset(original_payload)}\n`,
  )
}

/** Every entry that fits, page after page. */
async function* fetchAllEntries(
  api: ApiBackend,
  query: ReturnType<typeof toQuery>,
): AsyncGenerator<WireDeadLetter> {
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

/** `dead-letters export`: one JSON object a line, all that fit. */
export async function exportEntries(
  context: CommandContext,
  choice: EntrySelection & { out?: string },
): Promise<void> {
  const { io } = context
  const file =
    choice.out === undefined ? undefined : await (await import('./write.js')).openFile(context, choice.out)
  let count = 0
  try {
    await withApi(context, {}, async (api) => {
      for await (const entry of fetchAllEntries(api, toQuery(context, choice))) {
        count++
        const line = `${JSON.stringify(entry)}\n`
        if (file === undefined) io.out(line)
        else await file.write(line)
      }
    })
  } finally {
    await file?.close()
  }
  if (choice.out !== undefined) io.err(`${count} written to ${choice.out}\n`)
}

/** `dead-letters purge [ID...]`: deletes for good, after asking. */
export async function purgeEntries(
  context: CommandContext,
  ids: readonly string[],
  choice: EntrySelection & { all?: boolean; yes?: boolean; reason?: string },
): Promise<number | undefined> {
  const { io, globalOptions } = context
  const query = toQuery(context, choice)
  const chosen = ids.length > 0 || Object.values(query).some((value) => value !== undefined)
  if (!chosen && !choice.all)
    throw createUsageError(
      'purge: takes ids, a choice (--operation, --status, --item, --older-than), or --all',
    )
  return withApi(context, { canWrite: true }, async (api) => {
    const targets = [...ids]
    if (ids.length === 0) for await (const { dlq_id } of fetchAllEntries(api, query)) targets.push(dlq_id)
    if (targets.length > 0 && !choice.yes && !(await confirmPurge(context, targets.length)))
      return EXIT_CODES.failure
    let purged = 0
    const held: string[] = []
    for (const id of targets)
      try {
        await requestJson(
          api,
          'DELETE',
          `/dead-letters/${encodeURIComponent(id)}`,
          reasonHeader(choice.reason),
        )
        purged++
      } catch (error) {
        if (!(error instanceof CommandFailure) || error.code !== 'DEAD_LETTER_LEASED') throw error
        held.push(id)
      }
    if (globalOptions.json) printJson(context, { purged, leased: held })
    else
      io.out(
        `${purged} purged${held.length > 0 ? `, ${held.length} are being replayed and were kept` : ''}\n`,
      )
    return held.length > 0 ? EXIT_CODES.failure : EXIT_CODES.ok
  })
}

async function confirmPurge({ io }: CommandContext, count: number): Promise<boolean> {
  if (!io.canPrompt)
    throw createUsageError(`purge: ${count} would be deleted for good, and nobody can be asked; add --yes`)
  const { confirm, isCancel } = await import('@clack/prompts')
  const answer = await confirm({ message: `Delete ${count} dead letters for good?`, initialValue: false })
  return !isCancel(answer) && answer
}
