import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Counts the requests in progress of each connection. Node considers a connection idle only after its first request, so that
 * browsers and clients that connect in advance would delay a close.
 */
export class ConnectionTracker {
  private readonly requestsBySocket = new Map<Socket, number>()
  private isClosing = false

  constructor(server: Server, isSecure: boolean) {
    server.on(isSecure ? 'secureConnection' : 'connection', (socket: Socket) => {
      if (this.isClosing) return void socket.destroy()
      this.requestsBySocket.set(socket, 0)
      socket.once('close', () => this.requestsBySocket.delete(socket))
    })
  }

  /** Counts a request until its response is sent. */
  onRequest(response: ServerResponse): void {
    // The response to a pipelined request has no socket yet, but its request has.
    const { socket } = response.req
    this.changeCount(socket, 1)
    response.once('close', () => this.changeCount(socket, -1))
  }

  /** Whether a request of this connection is in progress. */
  isBusy(socket: Socket): boolean {
    return (this.requestsBySocket.get(socket) ?? 0) > 0
  }

  /** Ends the connections without a request in progress, and the others after their responses. */
  closeIdle(): void {
    this.isClosing = true
    for (const [socket, count] of this.requestsBySocket) if (count === 0) socket.destroySoon()
  }

  private changeCount(socket: Socket, change: number): void {
    const count = this.requestsBySocket.get(socket)
    if (count === undefined) return
    this.requestsBySocket.set(socket, count + change)
    if (this.isClosing && count + change === 0) socket.destroySoon()
  }
}
