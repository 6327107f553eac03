import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { HoldfastError } from 'holdfast'
import { closeGracefully, lingerAfterResponse } from './linger.js'
import { PartialLine } from './raw-url.js'

/** How many pipelined requests of one connection run at a time. Without a limit one connection could open any number of others. */
const MAX_CONCURRENT_REQUESTS = 10

/** The connection of a client: its requests that have no response yet, and what may still be read from it. */
export class ClientConnection {
  /** Whether no further request is handled: the response to one that was read closes the connection. */
  isLast = false
  /** Whether a request is read anew, by another parser, and is the last of its connection. */
  isRecovered = false
  /** Whether nothing was read since requests began to wait: a head that is late then may have been sent in time. */
  hasStoppedReading = false
  private readonly socket: Socket
  /** In the order of their requests. Nothing else may be written to the connection before them. */
  private readonly pending = new Set<ServerResponse>()
  private readonly line: PartialLine
  /** The response to the last request that was read. */
  private newest: ServerResponse | undefined = undefined
  /** Whether a request was read that is not handled. */
  private hasIgnored = false
  /** Whether the connection was paused by `pauseIfBusy`. */
  private hasPaused = false
  /** The last request that was read, if it has a body. */
  private withBody: IncomingMessage | undefined = undefined
  private controller: AbortController | undefined = undefined
  private readonly onAnswered: (() => void)[] = []
  /** Handlers of pending requests that are to run when others have their responses. */
  private readonly queue: (() => void)[] = []

  constructor(socket: Socket, maxHeaderSize: number) {
    this.socket = socket
    this.line = new PartialLine(maxHeaderSize)
  }

  /** Aborted when the client is gone. One for all requests of the connection, since each makes its call slower. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    return this.controller.signal
  }

  get hasPending(): boolean {
    return this.pending.size > 0
  }

  /** Whether the connection is closed after a response to what was read: a request behind that is not handled. */
  get isClosing(): boolean {
    return this.isLast || !this.socket.writable || this.newest?.shouldKeepAlive === false
  }

  /** Whether an error in what was read answers a request, and that one alone: the one whose body it is in. */
  get ownsError(): boolean {
    const [res, ...others] = this.pending
    return others.length === 0 && res?.headersSent === false && !res.req.complete
  }

  /** Whether an error in what was read is in a request behind those that have no response yet, which were read completely. */
  get isErrorBehindPending(): boolean {
    return this.hasPending && [...this.pending].every(({ req }) => req.complete)
  }

  /** Notes a request. Returns whether it is to be handled: it is not behind one that closes the connection. */
  add(req: IncomingMessage, res: ServerResponse, hasBody: boolean): boolean {
    this.isLast = this.isClosing
    this.pending.add(res)
    this.newest = res
    this.withBody = hasBody ? req : undefined
    this.hasIgnored = this.isLast
    return !this.isLast
  }

  /** Has the response to a request close the connection. */
  closeAfter(res: ServerResponse): void {
    res.shouldKeepAlive = false
    this.isLast = true
  }

  /** Handles a request that was added, at once or when fewer run. Nothing more is read until all of them run. */
  schedule(handle: () => void): void {
    if (this.pending.size - this.queue.length <= MAX_CONCURRENT_REQUESTS) handle()
    else this.queue.push(handle)
  }

  /**
   * Reads nothing more while requests wait to be handled, or what comes is not handled. Called after the parser has read a packet,
   * because the parser resumes the connection with each request, and when the connection was resumed: Node pauses it too, for
   * responses that are not sent yet and for bodies that are not read, and must not be resumed here from such a pause.
   */
  readonly pauseIfBusy = (): void => {
    const { socket } = this
    const isBusy = this.queue.length > 0 || (this.hasIgnored && socket.writable)
    if (!isBusy) return
    this.hasStoppedReading = true
    if (socket.isPaused()) return
    this.hasPaused = true
    socket.pause()
  }

  /** Notes what was read, after the parser has read it. */
  readonly onData = (chunk: Buffer): void => {
    const { withBody, line } = this
    if (withBody === undefined) line.append(chunk)
    else if (withBody.complete) {
      this.withBody = undefined
      // Chunks end with a line. Where a body with a length ends is not known here: the next request has to begin with a packet.
      if ('transfer-encoding' in withBody.headers) line.append(chunk)
      else line.clear()
    }
    this.hasStoppedReading = false
    this.pauseIfBusy()
  }

  /** Notes that a response is complete, or never will be. */
  delete(res: ServerResponse): void {
    this.pending.delete(res)
    const next = this.queue.shift()
    if (this.hasPaused && this.queue.length === 0) {
      this.hasPaused = false
      this.socket.resume()
    }
    if (this.socket.writable) next?.()
    if (!this.hasPending) for (const callback of this.onAnswered.splice(0)) callback()
  }

  /** Resolves when every request has its response. Meanwhile the server does not watch over the connection, which its parser left. */
  async waitForPending(): Promise<void> {
    const { socket } = this
    if (!this.hasPending) return
    const onDrain = (): void => {
      for (const res of this.pending) if (res.socket === socket) res.emit('drain')
    }
    const onGone = (): void => void socket.destroy()
    socket.on('drain', onDrain).on('timeout', onGone).on('end', onGone)
    await new Promise<void>((resolve) => this.onAnswered.push(resolve))
    socket.off('drain', onDrain).off('timeout', onGone).off('end', onGone).setTimeout(0)
  }

  /** Reads no further request, and closes the connection when those that were read have their responses. */
  closeAfterPending(): void {
    if (this.isLast) return
    this.isLast = true
    const last = [...this.pending].at(-1)
    if (last?.headersSent === false) {
      last.shouldKeepAlive = false
      lingerAfterResponse(this.socket)
    }
    this.onAnswered.push(() => closeGracefully(this.socket))
  }

  /** Notes that the connection is closed. Node tells only the response whose turn it was. */
  close(): void {
    this.controller?.abort(new HoldfastError('CANCELLED', 'the client disconnected'))
    for (const res of this.pending) if (res.socket === null) res.emit('close')
  }

  /**
   * The bytes from the beginning of the request line in which a parser refused the byte at `index` of a packet; undefined where
   * that is not known, or another request has no response yet.
   */
  recover(packet: Buffer | undefined, index: number): Buffer | undefined {
    if (packet === undefined || this.hasPending || this.isRecovered || this.withBody !== undefined)
      return undefined
    this.isRecovered = true
    return this.line.joinAt(packet, index)
  }
}

/** The connections of clients that there are. */
export class ClientConnections {
  private readonly all = new WeakMap<object, ClientConnection>()
  private readonly maxHeaderSize: number

  constructor(maxHeaderSize: number) {
    this.maxHeaderSize = maxHeaderSize
  }

  has(socket: Socket): boolean {
    return this.all.has(socket)
  }

  get(socket: Socket): ClientConnection {
    const found = this.all.get(socket) ?? new ClientConnection(socket, this.maxHeaderSize)
    this.all.set(socket, found)
    return found
  }
}
