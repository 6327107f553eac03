import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { systemClock } from 'holdfast/internal'

/** How long the rest of a body is taken in after its answer. */
const PATIENCE = 2000

/**
 * Ends connections on which a request is answered before its body was read. The answer says so, since the next request would
 * come too late; and what is left of the body is taken in for a while, because a connection that is closed on unread bytes is
 * reset, and the answer may be lost with it.
 */
export class Unread {
  private readonly ending = new WeakSet<Socket>()
  private readonly patience: number

  constructor(patience: number = PATIENCE) {
    this.patience = patience
  }

  /** Has a request answered, but for one that comes over a connection that is about to end. */
  see(incoming: IncomingMessage, outgoing: ServerResponse, answer: () => void): void {
    if (this.ending.has(incoming.socket)) return
    const { 'content-length': length = '0', 'transfer-encoding': coding } = incoming.headers
    if (length === '0' && coding === undefined) return answer()
    const { writeHead } = outgoing
    outgoing.writeHead = ((...head: Parameters<typeof writeHead>) => {
      if (!incoming.complete) this.end(incoming, outgoing)
      return writeHead.apply(outgoing, head)
    }) as typeof writeHead
    // A body that came with its head is there in the next turn: nothing is left unread of that one.
    setImmediate(answer)
  }

  private end(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { socket } = incoming
    this.ending.add(socket)
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
      timer = systemClock.setTimer(over, this.patience)
      socket.once('close', over)
      // Whoever listened wants no more of it.
      incoming.removeAllListeners('data').once('end', over).resume()
    }
  }
}
