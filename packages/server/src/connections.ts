import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The connections of a server, and how many requests of each are under way. A server that closes knows only those as idle that
 * have asked before; browsers and clients that connect ahead would hold it up.
 */
export class Connections {
  private readonly busy = new Map<Socket, number>()
  private ending = false

  constructor(server: Server, secured: boolean) {
    server.on(secured ? 'secureConnection' : 'connection', (socket: Socket) => {
      if (this.ending) return void socket.destroy()
      this.busy.set(socket, 0)
      socket.once('close', () => this.busy.delete(socket))
    })
  }

  /** A request is under way until its answer is out. */
  took(answer: ServerResponse): void {
    // The answer to a pipelined request has no socket of its own yet.
    const { socket } = answer.req
    this.count(socket, 1)
    answer.once('close', () => this.count(socket, -1))
  }

  /** Whether a request of this connection is under way. */
  isBusy(socket: Socket): boolean {
    return (this.busy.get(socket) ?? 0) > 0
  }

  /** Ends those with nothing under way, and the others once that is answered. */
  end(): void {
    this.ending = true
    for (const [socket, count] of this.busy) if (count === 0) socket.destroySoon()
  }

  private count(socket: Socket, change: number): void {
    const count = this.busy.get(socket)
    if (count === undefined) return
    this.busy.set(socket, count + change)
    if (this.ending && count + change === 0) socket.destroySoon()
  }
}
