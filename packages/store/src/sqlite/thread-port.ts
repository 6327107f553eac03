import type { ThreadInput, ThreadRequest, ThreadResponse } from './thread-protocol.js'

/** A thread that has the connection to a file. Requests and responses are copied, and keep their order. */
export interface SqliteThread {
  /** Sends a request. @throws if it is not plain data */
  postMessage(request: ThreadRequest): void
  /** Whether the thread keeps the process running. */
  ref(): void
  unref(): void
  /** Ends the thread. */
  terminate(): Promise<unknown>
}

/** What a thread reports. */
interface ThreadListeners {
  onResponse(response: ThreadResponse): void
  /** The thread has ended. No response follows. */
  onExit(cause: unknown): void
}

/** Starts a thread. */
export type StartThread = (input: ThreadInput, listeners: ThreadListeners) => SqliteThread
