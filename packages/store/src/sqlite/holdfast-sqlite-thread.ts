// The thread that has the connection to a SQLite file. It is an entry of its own in the build.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { callTable } from './host.js'
import { createTables } from './tables.js'
import { encodeError, type ThreadInput, type ThreadRequest, type ThreadResponse } from './thread-protocol.js'

const port = parentPort as MessagePort
const { file, options } = workerData as ThreadInput
const { tables, writes } = createTables(file, options)

// Calls start in the order in which they arrive.
port.on('message', ({ id, table, method, args }: ThreadRequest) => {
  const respond = (outcome: { result: unknown } | { error: ReturnType<typeof encodeError> }) =>
    port.postMessage({
      id,
      hasUnreadableRows: writes.hasUnreadableRows,
      ...outcome,
    } satisfies ThreadResponse)
  callTable(tables, table, method, args).then(
    (result) => respond({ result }),
    (error: unknown) => respond({ error: encodeError(error) }),
  )
})
