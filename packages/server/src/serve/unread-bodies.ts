import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { systemClock } from 'holdfast/internal'

/** How long the rest of a body is read after its response. */
const BODY_DRAIN_TIMEOUT_MS = 2000

/**
 * Ends connections on which a request is answered before its body was read. The response announces the end with
 * `connection: close`. The rest of the body is read for a while, because closing a connection with unread bytes resets it,
 * and the response could be lost.
 */
export class UnreadBodies {
  private readonly closingSockets = new WeakSet<Socket>()
  private readonly drainTimeout: number

  constructor(drainTimeout: number = BODY_DRAIN_TIMEOUT_MS) {
    this.drainTimeout = drainTimeout
  }

  /** Answers a request, unless its connection is about to end. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse, respond: () => void): void {
    if (this.closingSockets.has(incoming.socket)) return
    const { 'content-length': length = '0', 'transfer-encoding': coding } = incoming.headers
    if (length === '0' && coding === undefined) return respond()
    const { writeHead } = outgoing
    outgoing.writeHead = ((...head: Parameters<typeof writeHead>) => {
      if (!incoming.complete) this.closeAfterResponse(incoming, outgoing)
      return writeHead.apply(outgoing, head)
    }) as typeof writeHead
    // A body that arrived together with its head is complete in the next turn of the event loop.
    setImmediate(() => {
      // The app would not be notified of a client that has disconnected already.
      if (!incoming.socket.destroyed) respond()
    })
  }

  private closeAfterResponse(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { socket } = incoming
    this.closingSockets.add(socket)
    outgoing.shouldKeepAlive = false
    // Node calls this method to close the connection after the response.
    const close = socket.destroySoon.bind(socket)
    let timer: unknown
    const over = () => {
      systemClock.clearTimer(timer)
      close()
    }
    socket.destroySoon = () => {
      if (timer !== undefined) return
      // The network takes real time, so the injected clock is not used.
      timer = systemClock.setTimer(over, this.drainTimeout)
      socket.once('close', over)
      // The app does not read the rest of the body.
      incoming.removeAllListeners('data').once('end', over).resume()
    }
  }
}
