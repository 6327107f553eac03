// The thread that has the connection to a SQLite file. It is an entry of its own in the build.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { callTable } from './host.js'
import { createTables } from './tables.js'
import { encodeError, type ThreadInput, type ThreadRequest, type ThreadResponse } from './thread-protocol.js'

const port = parentPort as MessagePort
const { file, options } = workerData as ThreadInput
const { tables, writes } = createTables(file, options)

/** Carries out a call. No error ends the thread, not even that of a result that cannot be sent. */
async function handle({ id, table, method, args }: ThreadRequest): Promise<void> {
  const respond = (outcome: { result: unknown } | { error: ReturnType<typeof encodeError> }) =>
    port.postMessage({
      id,
      hasUnreadableRows: writes.unreadableRows.hasRows,
      ...outcome,
    } satisfies ThreadResponse)
  try {
    respond({ result: await callTable(tables, table, method, args) })
  } catch (error) {
    respond({ error: encodeError(error) })
  }
}

// Calls start in the order in which they arrive.
port.on('message', (request: ThreadRequest) => void handle(request))
