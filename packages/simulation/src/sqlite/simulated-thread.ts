import type { Clock } from 'holdfast'
import type { StartThread } from '../../../store/src/sqlite/thread-port.js'
import { createThreadServer } from '../../../store/src/sqlite/thread-server.js'
import type { Choices } from '../engine/seeded-random.js'
import { ConnectionLife, type OnStatement } from './connection-life.js'
import type { SimulatedDatabase } from './simulated-database.js'
import { createSqlitePlatform } from './sqlite-platform.js'

/** The usual delay of a message between two threads, and how long the end of a thread is not known. */
const MEAN_MESSAGE_MS = 0.1
const MEAN_EXIT_MS = 5

/** Messages of one direction keep their order, also at the same virtual time. */
const MIN_GAP_MS = 0.001

/** The thread of a process. */
export interface ThreadParts {
  readonly database: SimulatedDatabase
  readonly clock: Clock
  readonly choices: Choices
  readonly onStatement?: OnStatement
}

/** The threads of a process, of which one runs at a time. */
export interface ProcessThreads {
  readonly start: StartThread
  /** How many requests have no response. */
  readonly openRequests: number
  /** The thread ends, and its process continues. */
  crash(): void
  /** The process has ended, and with it the thread. */
  kill(): void
}

/** Creates the threads of a process, which run in this thread on virtual time. */
export function createProcessThreads({ database, clock, choices, onStatement }: ThreadParts): ProcessThreads {
  let isProcessAlive = true
  let current: { end(): void; onCrash(): void } | undefined
  const openIds = new Set<number>()

  const start: StartThread = (input, { onResponse, onExit }) => {
    const life = new ConnectionLife(database, onStatement)
    if (!isProcessAlive) life.end()
    /** Returns a function that delivers messages after a delay, in order. */
    const createChannel = () => {
      let lastAt = 0
      return (deliver: () => void) => {
        const now = clock.now()
        lastAt = Math.max(lastAt + MIN_GAP_MS, now + choices.delay(MEAN_MESSAGE_MS))
        clock.setTimer(() => {
          if (life.isAlive) deliver()
        }, lastAt - now)
      }
    }
    const sendRequest = createChannel()
    const sendResponse = createChannel()
    const handle = createThreadServer(
      input,
      (response) => {
        const copy = structuredClone(response)
        sendResponse(() => {
          openIds.delete(copy.id)
          onResponse(copy)
        })
      },
      createSqlitePlatform(database, life, clock),
    )
    const thread = {
      end: () => life.end(),
      onCrash: () => {
        clock.setTimer(() => onExit(new Error('it ended with code 1')), choices.delay(MEAN_EXIT_MS))
      },
    }
    current = thread
    return {
      postMessage: (request) => {
        const copy = structuredClone(request)
        if (request.id > 0) openIds.add(request.id)
        sendRequest(() => void handle(copy))
      },
      ref: () => {},
      unref: () => {},
      terminate: async () => {
        openIds.clear()
        life.end()
      },
    }
  }

  return {
    start,
    get openRequests() {
      return openIds.size
    },
    crash() {
      const thread = current
      current = undefined
      thread?.end()
      thread?.onCrash()
    },
    kill() {
      isProcessAlive = false
      current?.end()
    },
  }
}
