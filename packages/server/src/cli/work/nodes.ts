import type { Context } from '../context.js'
import { printJson, printList } from '../output/print.js'
import { when } from '../output/text.js'
import { ask, withApi } from '../source/api.js'

interface Nodes {
  items: {
    id: string
    version: string
    last_seen: string
    started_at: string
    opinions: Record<string, string>
  }[]
  shared?: { up: boolean; lost_since?: string }
}

/** `nodes`: the processes that share what they know. */
export async function nodes(context: Context): Promise<void> {
  const live = { live: 'nodes are known to the processes of a fleet' }
  const answer = await withApi(context, live, (api) => ask<Nodes>(api, 'GET', '/nodes'))
  const { io, shared: asked } = context
  if (asked.json) return printJson(context, answer)
  const now = io.clock.wall()
  printList(context, {
    items: answer.items,
    head: ['node', 'version', 'seen', 'began', 'not closed'],
    row: (node) => [
      node.id,
      node.version,
      when(node.last_seen, now),
      when(node.started_at, now),
      Object.keys(node.opinions).length,
    ],
    none: 'there are no nodes',
  })
  const { shared } = answer
  if (shared === undefined) io.err('This process shares nothing: its config says nothing of shared.\n')
  else if (!shared.up)
    io.err(
      `What is shared cannot be reached${shared.lost_since === undefined ? '' : `, since ${when(shared.lost_since, now)}`}: this process decides alone.\n`,
    )
}
