import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The connections of a server, and how many requests of each are under way. A server that closes knows only those as idle that
 * have asked before; browsers and clients that connect ahead would hold it up.
 */
export class ConnectionTracker {
  private readonly requestsBySocket = new Map<Socket, number>()
  private isClosing = false

  constructor(server: Server, secured: boolean) {
    server.on(secured ? 'secureConnection' : 'connection', (socket: Socket) => {
      if (this.isClosing) return void socket.destroy()
      this.requestsBySocket.set(socket, 0)
      socket.once('close', () => this.requestsBySocket.delete(socket))
    })
  }

  /** A request is under way until its answer is out. */
  onRequest(answer: ServerResponse): void {
    // The answer to a pipelined request has no socket of its own yet.
    const { socket } = answer.req
    this.changeCount(socket, 1)
    answer.once('close', () => this.changeCount(socket, -1))
  }

  /** Whether a request of this connection is under way. */
  isBusy(socket: Socket): boolean {
    return (this.requestsBySocket.get(socket) ?? 0) > 0
  }

  /** Ends those with nothing under way, and the others once that is answered. */
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
