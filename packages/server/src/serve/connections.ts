import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ClientConnection } from './client-connection.js'

/**
 * The open connections of a server. Node considers a connection idle only after its first request, so that browsers and
 * clients that connect in advance would delay a close.
 */
export class ConnectionTracker {
  private readonly connections = new Map<Socket, ClientConnection>()
  private isClosing = false

  constructor(server: Server, isSecure: boolean) {
    server.on(isSecure ? 'secureConnection' : 'connection', (socket: Socket) => {
      if (this.isClosing) return void socket.destroy()
      this.connections.set(socket, new ClientConnection(socket))
      socket.once('close', () => this.connections.delete(socket))
    })
  }

  /** The connection of a socket; undefined where the socket is closed or has no connection of HTTP yet. */
  get(socket: Socket): ClientConnection | undefined {
    return this.connections.get(socket)
  }

  /** Handles a request when it is its turn on its connection. */
  handle(response: ServerResponse, handle: () => void): void {
    // The response to a pipelined request has no socket yet, but its request has.
    this.get(response.req.socket)?.handle(response, handle)
  }

  /** Whether a request of this connection is in progress. */
  isBusy(socket: Socket): boolean {
    return this.get(socket)?.hasPending === true
  }

  /** Ends the connections without a request in progress, and the others after their responses. */
  closeIdle(): void {
    this.isClosing = true
    for (const connection of this.connections.values()) connection.closeWhenIdle()
  }

  /** Ends all connections. Node does not know those whose parser it has detached. */
  destroyAll(): void {
    for (const socket of this.connections.keys()) socket.destroy()
  }
}
