import type { WireCount, WireDeadLetter } from '../../wire-types.js'
import { type ApiBackend, reasonHeader, requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, createUsageError, EXIT_CODES } from '../context/exit.js'
import { printJson } from '../output/print.js'
import { type EntrySelection, fetchCount, type SelectionQuery, toQuery } from './dead-letters.js'

/** `dead-letters purge [ID...]`: deletes dead letters after a confirmation. */
export async function purgeEntries(
  context: CommandContext,
  ids: readonly string[],
  selection: EntrySelection & { all?: boolean; yes?: boolean; reason?: string },
): Promise<number | undefined> {
  const { io, globalOptions } = context
  const query = toQuery(context, selection)
  const hasSelection = ids.length > 0 || Object.values(query).some((value) => value !== undefined)
  if (!hasSelection && !selection.all)
    throw createUsageError(
      'purge: expected ids, a selection (--operation, --status, --item, --older-than, --newer-than, --search) or --all, got none',
    )
  return withApi(context, { canWrite: true }, async (api) => {
    if (ids.length === 0) {
      if (selection.yes) return purgeMatching(context, api, query, selection.reason)
      const counted = await fetchCount(api, query)
      if (counted.total > 0 && !(await confirmPurge(context, counted.total))) return EXIT_CODES.failure
      return purgeMatching(context, api, pinQuery(query, counted), selection.reason)
    }
    if (!selection.yes && !(await confirmPurge(context, ids.length))) return EXIT_CODES.failure
    let purged = 0
    const leased: string[] = []
    for (const id of ids)
      try {
        await requestJson(
          api,
          'DELETE',
          `/dead-letters/${encodeURIComponent(id)}`,
          reasonHeader(selection.reason),
        )
        purged++
      } catch (error) {
        if (!(error instanceof CommandFailure) || error.code !== 'DEAD_LETTER_LEASED') throw error
        leased.push(id)
      }
    if (globalOptions.json) printJson(context, { purged, leased })
    else
      io.out(
        `${purged} deleted${leased.length > 0 ? `, ${leased.length} not deleted because they are being replayed` : ''}\n`,
      )
    return leased.length > 0 ? EXIT_CODES.failure : EXIT_CODES.ok
  })
}

/**
 * The query for the dead letters that were counted, without those that are stored during the confirmation. The time is that of
 * the server, and the end of a range is exclusive.
 */
function pinQuery(query: SelectionQuery, { counted_at }: WireCount): SelectionQuery {
  const end = Date.parse(counted_at) + 1
  const to = query.to === undefined ? end : Math.min(Date.parse(query.to), end)
  return { ...query, to: new Date(to).toISOString() }
}

/** The ids of the selected dead letters that are being replayed. */
async function fetchLeased(api: ApiBackend, query: SelectionQuery): Promise<string[]> {
  const { items } = await requestJson<{ items: WireDeadLetter[] }>(api, 'GET', '/dead-letters', {
    query: { ...query, status: ['replaying'], limit: 1000 },
  })
  return items.map(({ dlq_id }) => dlq_id)
}

/** Deletes the selected dead letters. */
async function purgeMatching(
  context: CommandContext,
  api: ApiBackend,
  query: SelectionQuery,
  reason: string | undefined,
): Promise<number> {
  const { io, globalOptions } = context
  const hasFilter = Object.values(query).some((value) => value !== undefined)
  const { purged, skipped } = await requestJson<{ purged: number; skipped: number }>(
    api,
    'POST',
    '/dead-letters/purge',
    { body: hasFilter ? query : { all: true }, ...reasonHeader(reason) },
  )
  if (globalOptions.json)
    printJson(context, { purged, leased: skipped > 0 ? await fetchLeased(api, query) : [] })
  else
    io.out(
      `${purged} deleted${skipped > 0 ? `, ${skipped} not deleted because they are being replayed` : ''}\n`,
    )
  return skipped > 0 ? EXIT_CODES.failure : EXIT_CODES.ok
}

async function confirmPurge({ io }: CommandContext, count: number): Promise<boolean> {
  if (!io.canPrompt)
    throw createUsageError(`purge: cannot ask for a confirmation to delete ${count} dead letters; add --yes`)
  const { confirm, isCancel } = await import('@clack/prompts')
  const answer = await confirm({
    message: `Delete ${count} dead letters? This cannot be undone.`,
    initialValue: false,
  })
  return !isCancel(answer) && answer
}
