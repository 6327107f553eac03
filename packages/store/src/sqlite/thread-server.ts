import { callTable } from './host.js'
import type { SqlitePlatform } from './platform.js'
import { createTables } from './tables.js'
import { encodeError, type ThreadInput, type ThreadRequest, type ThreadResponse } from './thread-protocol.js'

/**
 * Carries out the calls of a thread, in the order in which they arrive. No error ends the thread, not even that of a result that
 * cannot be sent.
 */
export function createThreadServer(
  { file, options }: ThreadInput,
  send: (response: ThreadResponse) => void,
  platform?: SqlitePlatform,
): (request: ThreadRequest) => Promise<void> {
  const { tables, writes } = createTables(file, options, platform)
  return async ({ id, table, method, args }) => {
    const respond = (outcome: { result: unknown } | { error: ReturnType<typeof encodeError> }) =>
      send({ id, hasUnreadableRows: writes.unreadableRows.hasRows, ...outcome })
    try {
      respond({ result: await callTable(tables, table, method, args) })
    } catch (error) {
      respond({ error: encodeError(error) })
    }
  }
}
