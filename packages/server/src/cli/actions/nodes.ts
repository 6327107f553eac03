import type { WireFleet } from '../../routes/nodes.js'
import { requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { printJson, printList } from '../output/print.js'
import { formatRelativeTime } from '../output/text.js'

/** `nodes`: lists the processes of the fleet. */
export async function listNodes(context: CommandContext): Promise<void> {
  const live = { liveReason: 'nodes lists the processes of a fleet, which only a running process knows' }
  const fleet = await withApi(context, live, (api) => requestJson<WireFleet>(api, 'GET', '/nodes'))
  const { io, globalOptions } = context
  if (globalOptions.json) return printJson(context, fleet)
  const now = io.clock.wall()
  printList(context, {
    items: fleet.items,
    head: ['node', 'version', 'last seen', 'started', 'not closed'],
    row: (node) => [
      node.id,
      node.version,
      formatRelativeTime(node.last_seen, now),
      formatRelativeTime(node.started_at, now),
      Object.keys(node.opinions).length,
    ],
    emptyMessage: 'no nodes found',
  })
  const { shared } = fleet
  if (shared === undefined) io.err('This process does not share state: its config has no section shared.\n')
  else if (!shared.up)
    io.err(
      `The shared state cannot be reached${shared.lost_since == null ? '' : ` (lost ${formatRelativeTime(shared.lost_since, now)})`}: this process uses only its local state.\n`,
    )
}
