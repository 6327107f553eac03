import type { Context } from '../context.js'
import { CommandFailure, EXIT } from '../exit.js'
import { printList } from '../output/print.js'
import { when } from '../output/text.js'
import { ask, withApi } from '../source/api.js'

interface Node {
  id: string
  version?: string
  last_seen?: string
  started_at?: string
}

/** `nodes`: the processes that share what they know. */
export async function nodes(context: Context): Promise<void> {
  const live = { live: 'nodes are known to the processes of a fleet' }
  const items = await withApi(context, live, async (api) => {
    try {
      return (await ask<{ items: Node[] }>(api, 'GET', '/nodes')).items
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.code !== 'NOT_FOUND') throw error
      throw new CommandFailure(EXIT.failure, 'this server is in no fleet', {
        code: 'NOT_FOUND',
        hint: 'set shared: redis://… in its config file',
      })
    }
  })
  printList(context, {
    items,
    head: ['node', 'version', 'seen', 'began'],
    row: (node) => [
      node.id,
      node.version,
      when(node.last_seen, context.io.clock.wall()),
      when(node.started_at, context.io.clock.wall()),
    ],
    none: 'there are no nodes: this process stands alone',
  })
}
