import { HOUR_MS } from '@holdfast/records/constants'
import type { WireErrorGroups } from '../../routes/errors.js'
import { requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { printList } from '../output/print.js'
import { formatRelativeTime } from '../output/text.js'

export interface ErrorsOptions {
  operation?: string
  kind?: string
  severity?: string
  hours: number
  limit: number
}

/** `errors`: lists errors grouped by kind, message and operation. */
export async function listErrorGroups(context: CommandContext, options: ErrorsOptions): Promise<void> {
  const { operation, kind, severity, hours, limit } = options
  const now = context.io.clock.wall()
  const query = {
    operation,
    kind,
    severity,
    limit: String(Math.min(limit, 1000)),
    from: new Date(now - hours * HOUR_MS).toISOString(),
  }
  const groups = await withApi(context, {}, (api) =>
    requestJson<WireErrorGroups>(api, 'GET', '/errors/groups', { query }),
  )
  if (!groups.complete)
    context.io.err(
      `holdfast: only the newest ${groups.scanned} errors are counted, since ${groups.from}; use fewer --hours\n`,
    )
  printList(context, {
    items: groups.items,
    head: ['count', 'last seen', 'first seen', 'kind', 'operation', 'message'],
    row: (group) => [
      group.count,
      formatRelativeTime(group.last_seen, now),
      formatRelativeTime(group.first_seen, now),
      group.kind,
      group.operation,
      `${group.error_type}: ${group.message}`,
    ],
    emptyMessage: 'no errors in this time range',
  })
}
