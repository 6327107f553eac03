import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { systemClock } from 'holdfast/internal'

/** How long the rest of a body is taken in after its answer. */
const BODY_DRAIN_TIMEOUT_MS = 2000

/**
 * Ends connections on which a request is answered before its body was read. The answer says so, since the next request would
 * come too late; and what is left of the body is taken in for a while, because a connection that is closed on unread bytes is
 * reset, and the answer may be lost with it.
 */
export class UnreadBodies {
  private readonly closingSockets = new WeakSet<Socket>()
  private readonly drainTimeout: number

  constructor(patience: number = BODY_DRAIN_TIMEOUT_MS) {
    this.drainTimeout = patience
  }

  /** Has a request answered, but for one that comes over a connection that is about to end. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse, respond: () => void): void {
    if (this.closingSockets.has(incoming.socket)) return
    const { 'content-length': length = '0', 'transfer-encoding': coding } = incoming.headers
    if (length === '0' && coding === undefined) return respond()
    const { writeHead } = outgoing
    outgoing.writeHead = ((...head: Parameters<typeof writeHead>) => {
      if (!incoming.complete) this.closeAfterResponse(incoming, outgoing)
      return writeHead.apply(outgoing, head)
    }) as typeof writeHead
    // A body that came with its head is there in the next turn: nothing is left unread of that one.
    setImmediate(respond)
  }

  private closeAfterResponse(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { socket } = incoming
    this.closingSockets.add(socket)
    outgoing.shouldKeepAlive = false
    // Node closes by this once the answer is out.
    const close = socket.destroySoon.bind(socket)
    let timer: unknown
    const over = () => {
      systemClock.clearTimer(timer)
      close()
    }
    socket.destroySoon = () => {
      if (timer !== undefined) return
      // How long a network takes is real time, whatever clock the calls go by.
      timer = systemClock.setTimer(over, this.drainTimeout)
      socket.once('close', over)
      // Whoever listened wants no more of it.
      incoming.removeAllListeners('data').once('end', over).resume()
    }
  }
}
