import { requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { printJson, printList } from '../output/print.js'
import { formatRelativeTime } from '../output/text.js'

interface WireNodes {
  items: {
    id: string
    version: string
    last_seen: string
    started_at: string
    opinions: Record<string, string>
  }[]
  shared?: { up: boolean; lost_since?: string }
}

/** `listNodes`: the processes that share what they know. */
export async function listNodes(context: CommandContext): Promise<void> {
  const live = { liveReason: 'nodes are known to the processes of a fleet' }
  const answer = await withApi(context, live, (api) => requestJson<WireNodes>(api, 'GET', '/nodes'))
  const { io, globalOptions: asked } = context
  if (asked.json) return printJson(context, answer)
  const now = io.clock.wall()
  printList(context, {
    items: answer.items,
    head: ['node', 'version', 'seen', 'began', 'not closed'],
    row: (node) => [
      node.id,
      node.version,
      formatRelativeTime(node.last_seen, now),
      formatRelativeTime(node.started_at, now),
      Object.keys(node.opinions).length,
    ],
    emptyMessage: 'there are no nodes',
  })
  const { shared } = answer
  if (shared === undefined) io.err('This process shares nothing: its config says nothing of shared.\n')
  else if (!shared.up)
    io.err(
      `What is shared cannot be reached${shared.lost_since === undefined ? '' : `, since ${formatRelativeTime(shared.lost_since, now)}`}: this process decides alone.\n`,
    )
}
