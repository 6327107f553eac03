// The thread that has the connection to a SQLite file. It is an entry of its own in the build.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { ThreadInput, ThreadRequest } from './thread-protocol.js'
import { createThreadServer } from './thread-server.js'

const port = parentPort as MessagePort
const handle = createThreadServer(workerData as ThreadInput, (response) => port.postMessage(response))

port.on('message', (request: ThreadRequest) => void handle(request))
