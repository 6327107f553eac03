/** A request or its reply was lost with the connection: the server may have executed the request. */
export class ConnectionLostError extends Error {
  constructor(message = 'the connection was lost') {
    super(message)
    this.name = 'ConnectionLostError'
  }
}

/**
 * One connection between a node and a simulated server. The server is a state machine that executes a request at once; the link
 * decides when a request and its reply arrive, and whether. Requests of one link arrive in the order in which they were sent.
 */
export interface Link {
  /** Whether the connection is established. */
  readonly isOpen: boolean
  /** Establishes the connection. @throws ConnectionLostError if the server cannot be reached */
  open(): Promise<void>
  /**
   * Runs `execute` on the server when the request arrives, and resolves with its result when the reply arrives. Never settles while
   * the network drops packets, unless the connection is reset, and never after the node has died.
   *
   * @throws ConnectionLostError if the connection is reset before the reply arrives
   * @throws the error of `execute`
   */
  request<T>(execute: () => T): Promise<T>
  /** Sends a message from the server to the node. It can be lost, delayed, repeated and overtaken by others. */
  push(deliver: () => void): void
  /** Closes the connection. The server may still execute requests on their way, also after requests of a new connection. */
  close(): void
  /** Called when the connection is reset, not after {@link close}. */
  onReset(listener: () => void): void
}
