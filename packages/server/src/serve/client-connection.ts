import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { systemClock } from 'holdfast/internal'

/** How many pipelined requests of one connection are handled at a time. Without a limit one connection could occupy the whole server. */
const MAX_CONCURRENT_REQUESTS = 10

/** The connection of a client: its requests without a complete response, and whether more requests are read from it. */
export class ClientConnection {
  /** Whether nothing was read since requests began to wait. A late request can then have been sent in time. */
  hasStoppedReading = false
  private readonly socket: Socket
  /** In the order of their requests. Nothing else can be written to the connection before them. */
  private readonly pending = new Set<ServerResponse>()
  /** Handles the newest requests of `pending`, when older ones have their responses. */
  private readonly queue: (() => void)[] = []
  /** The response to the last request that was read. Its body may be incomplete. */
  private newest: ServerResponse | undefined
  /** The timer of `postponeTimeout`. */
  private timer: unknown
  /** The response after which the connection is closed. Requests behind it are not handled. */
  private last: ServerResponse | undefined
  /** Whether a request was read that is not handled. */
  private hasIgnored = false
  /** Whether the connection was paused by `pauseIfBusy`. */
  private hasPaused = false
  /** Whether the connection is closed as soon as no request is pending. */
  private isEnding = false

  constructor(socket: Socket) {
    this.socket = socket
    // The parser of Node was attached before, so it has read a packet when these are called.
    socket.on('data', () => {
      this.hasStoppedReading = false
      this.pauseIfBusy()
    })
    socket.on('resume', () => this.pauseIfBusy())
    socket.once('close', () => this.cancelPending())
  }

  get hasPending(): boolean {
    return this.pending.size > 0
  }

  /** Handles a request, at once or when earlier requests have their responses. It is ignored behind one that closes the connection. */
  handle(response: ServerResponse, handle: () => void): void {
    this.newest = response
    if (this.last !== undefined) {
      this.hasIgnored = true
      return
    }
    if (!response.shouldKeepAlive) this.last = response
    this.pending.add(response)
    response.once('close', () => this.deletePending(response))
    this.queue.push(handle)
    this.handleQueued()
  }

  /**
   * Calls a function if the request that is being read is still incomplete after a time in which the connection was read. Node
   * reports the timeout of a request only once.
   */
  postponeTimeout(ms: number, onTimeout: () => void): void {
    const { newest, isBusy } = this
    const isInBody = newest?.req.complete === false
    systemClock.clearTimer(this.timer)
    // The network takes real time, so the injected clock is not used.
    this.timer = systemClock.setTimer(() => {
      // The head of the request is complete if another response is the newest one.
      const isSame = this.newest === newest
      if (this.newest?.req.complete && (isInBody || !isSame)) return
      if (isBusy || !isSame) return this.postponeTimeout(ms, onTimeout)
      this.hasStoppedReading = false
      onTimeout()
    }, ms)
  }

  /** Closes the connection now, or as soon as no request is pending. */
  closeWhenIdle(): void {
    this.isEnding = true
    if (!this.hasPending) this.socket.destroySoon()
  }

  /**
   * Reads no further request, and closes the connection after the responses to the requests that were read completely. Returns
   * whether the connection is closed in this way; it is not if no such response is pending.
   */
  closeAfterPending(): boolean {
    if (!this.hasPending) return this.last !== undefined
    // The body of a request can be incomplete. It needs no response, unless that has begun, and no other request is behind it.
    const last = [...this.pending].findLast(({ req, headersSent }) => req.complete || headersSent)
    if (last === undefined) return false
    this.last = last
    if (!last.headersSent) last.shouldKeepAlive = false
    return true
  }

  /** Serves the pending responses after Node has detached its parser, which it does when it has read a CONNECT request. */
  serveWithoutParser(): void {
    const { socket } = this
    socket.on('drain', () => {
      for (const response of this.pending) if (response.socket === socket) response.emit('drain')
    })
    // What the client sends is dropped, and is read only to notice the end of the connection.
    socket.on('end', () => socket.destroy()).resume()
  }

  /** Whether requests wait to be handled, or what comes is not handled. */
  private get isBusy(): boolean {
    return this.queue.length > 0 || this.hasIgnored
  }

  private handleQueued(): void {
    while (this.queue.length > 0 && this.pending.size - this.queue.length < MAX_CONCURRENT_REQUESTS)
      this.queue.shift()?.()
  }

  /**
   * Stops reading a busy connection. Called when the parser has read a packet, because the parser resumes the connection with each
   * request, and when the connection was resumed. Node pauses it too, for responses that are not sent yet, and it must not be
   * resumed here from such a pause.
   */
  private pauseIfBusy(): void {
    const { socket } = this
    if (!this.isBusy) return
    this.hasStoppedReading = true
    if (socket.isPaused()) return
    this.hasPaused = true
    socket.pause()
  }

  /** Removes a request whose response is complete or was aborted. */
  private deletePending(response: ServerResponse): void {
    const { socket } = this
    this.pending.delete(response)
    if (response === this.last || !response.shouldKeepAlive) {
      this.last = response
      this.queue.length = 0
      socket.destroySoon()
    }
    this.handleQueued()
    if (this.hasPaused && !this.isBusy) {
      this.hasPaused = false
      socket.resume()
    }
    if (this.isEnding && !this.hasPending) socket.destroySoon()
  }

  /** Cancels the pending requests of a closed connection. Node notifies only the response that was being sent. */
  private cancelPending(): void {
    systemClock.clearTimer(this.timer)
    this.queue.length = 0
    for (const response of this.pending) if (response.socket === null) response.emit('close')
  }
}
