import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { closeGracefully, lingerAfterResponse } from './linger.js'
import { PartialLine } from './raw-url.js'

/** How many pipelined requests of one connection run at a time, if all have safe methods. Without a limit one connection could open any number of others. */
const MAX_CONCURRENT_REQUESTS = 10

/** The methods that change nothing (RFC 9110, section 9.2.1). */
const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

const isSafe = ({ req }: ServerResponse): boolean => SAFE_METHODS.has(req.method)

/** A pending request that is handled when other requests have their responses. */
interface QueuedRequest {
  readonly res: ServerResponse
  readonly handle: () => void
}

/** The connection of a client: its requests without a response, and whether more requests are read from it. */
export class ClientConnection {
  /** Whether no further request is handled: the response to one that was read closes the connection. */
  isLast = false
  /** Whether a request is parsed again, by a second parser, and is the last of its connection. */
  isRecovered = false
  /** Whether nothing was read since requests began to wait. A late head can then have been sent in time. */
  hasStoppedReading = false
  private readonly socket: Socket
  private readonly idleTimeout: number
  /** In the order of their requests. Nothing else can be written to the connection before them. */
  private readonly pending = new Set<ServerResponse>()
  private readonly line: PartialLine
  /** The response to the last request that was read. */
  private newest: ServerResponse | undefined = undefined
  /** The timer of `postponeTimeout`. */
  private timer: unknown = undefined
  /** Whether a request was read that is not handled. */
  private hasIgnored = false
  /** Whether the connection was paused by `pauseIfBusy`. */
  private hasPaused = false
  /** The last request that was read, if it has a body. */
  private withBody: IncomingMessage | undefined = undefined
  /** The last request whose body was read, or is. */
  private received: IncomingMessage | undefined = undefined
  private controller: AbortController | undefined = undefined
  private readonly onAnswered: (() => void)[] = []
  private readonly queue: QueuedRequest[] = []
  /** Requests that were handled and have no complete response. Rejected requests and those for the proxy itself are not among them. */
  private readonly running = new Set<ServerResponse>()

  constructor(socket: Socket, maxHeaderSize: number, idleTimeout: number) {
    this.socket = socket
    this.idleTimeout = idleTimeout
    this.line = new PartialLine(maxHeaderSize)
  }

  /** Aborted when the client disconnects. All requests of the connection share it, because a signal makes a call slower. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    return this.controller.signal
  }

  get hasPending(): boolean {
    return this.pending.size > 0
  }

  /** Whether the connection is closed after a pending response. A request behind that one is not handled. */
  get isClosing(): boolean {
    return this.isLast || !this.socket.writable || this.newest?.shouldKeepAlive === false
  }

  /** Whether a parser error is in the body of the only pending request, so that the error is its response. */
  get ownsError(): boolean {
    const [res, ...others] = this.pending
    return others.length === 0 && res?.headersSent === false && !res.req.complete
  }

  /** Whether a parser error is in a request behind the pending ones, which were read completely. */
  get isErrorBehindPending(): boolean {
    return this.hasPending && [...this.pending].every(({ req }) => req.complete)
  }

  /** Whether a parser error is in the body of a request that has its response, so that the error must not be a second one. */
  get isErrorBehindResponse(): boolean {
    return !this.hasPending && this.withBody?.complete === false
  }

  /** Adds a request. Returns whether it is handled, which it is not behind a request that closes the connection. */
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

  /** Limits how long the client can pause in the body of a request that is handled. */
  receiveBody(req: IncomingMessage): void {
    this.received = req
    req.once('end', () => this.updateTimeout())
    this.updateTimeout()
  }

  /**
   * Sets the timer of the connection, which all pending requests share: it runs while the client has to read a response or to
   * send a body, and not while the proxy waits for a target. Node sets it while no request is pending.
   */
  updateTimeout(): void {
    const [first] = this.pending
    if (first === undefined) return
    const isForClient = first.headersSent || this.received?.complete === false
    this.socket.setTimeout(isForClient ? this.idleTimeout : 0)
  }

  /** Handles an added request, at once or when other requests have their responses. The socket is paused while requests are queued. */
  schedule(res: ServerResponse, handle: () => void): void {
    this.queue.push({ res, handle })
    this.handleQueued()
  }

  /**
   * Calls a function if the head that is being read is still incomplete after a time in which the connection was read. Node reports
   * the timeout of a head only once.
   */
  postponeTimeout(ms: number, onTimeout: () => void): void {
    const { newest, isBusy } = this
    systemClock.clearTimer(this.timer)
    // The network takes real time, so the injected clock is not used.
    this.timer = systemClock.setTimer(() => {
      // The head is complete if another response is the newest one.
      if (this.newest !== newest) return
      if (isBusy) return this.postponeTimeout(ms, onTimeout)
      this.hasStoppedReading = false
      onTimeout()
    }, ms)
  }

  /** Whether requests wait to be handled, or what comes is not handled. */
  private get isBusy(): boolean {
    return this.queue.length > 0 || (this.hasIgnored && this.socket.writable)
  }

  private handleQueued(): void {
    for (let next = this.queue[0]; next !== undefined && this.canHandle(next.res); next = this.queue[0]) {
      this.queue.shift()
      this.running.add(next.res)
      next.handle()
    }
  }

  /**
   * Requests run at the same time only if all have safe methods (RFC 9112, section 9.3.2). One with another method runs alone, so the
   * first of those that run tells what the others are.
   */
  private canHandle(res: ServerResponse): boolean {
    const [first] = this.running
    if (first === undefined) return true
    return this.running.size < MAX_CONCURRENT_REQUESTS && isSafe(first) && isSafe(res)
  }

  /**
   * Stops reading a busy connection. Called when the parser has read a packet, because the parser resumes the connection with each
   * request, and when the connection was resumed. Node pauses it too, for responses that are not sent yet and for bodies that are
   * not read, and it must not be resumed here from such a pause.
   */
  readonly pauseIfBusy = (): void => {
    const { socket } = this
    if (!this.isBusy) return
    this.hasStoppedReading = true
    if (socket.isPaused()) return
    this.hasPaused = true
    socket.pause()
  }

  /** Tracks the bytes that the parser has read. */
  readonly onData = (chunk: Buffer): void => {
    const { withBody, line } = this
    if (withBody === undefined) line.append(chunk)
    else if (withBody.complete) {
      this.withBody = undefined
      // A chunked body ends with a line. The end of a body with a length is not known here, so the next request has to begin with a packet.
      if ('transfer-encoding' in withBody.headers) line.append(chunk)
      else line.clear()
    }
    this.hasStoppedReading = false
    this.pauseIfBusy()
  }

  /** Removes a request whose response is complete or was aborted. */
  delete(res: ServerResponse): void {
    this.pending.delete(res)
    if (!this.running.delete(res)) {
      const index = this.queue.findIndex((queued) => queued.res === res)
      if (index >= 0) this.queue.splice(index, 1)
    }
    if (this.socket.writable) this.handleQueued()
    else this.queue.length = 0
    if (this.hasPaused && this.queue.length === 0) {
      this.hasPaused = false
      this.socket.resume()
    }
    this.updateTimeout()
    if (!this.hasPending) for (const callback of this.onAnswered.splice(0)) callback()
  }

  /** Resolves when every request has its response. The connection is handled here meanwhile, because its parser was detached. */
  async waitForPending(): Promise<void> {
    const { socket } = this
    // The head of the request that takes over the connection is complete.
    systemClock.clearTimer(this.timer)
    if (!this.hasPending) return
    const onDrain = (): void => {
      for (const res of this.pending) if (res.socket === socket) res.emit('drain')
    }
    const onDisconnect = (): void => void socket.destroy()
    socket.on('drain', onDrain).on('timeout', onDisconnect).on('end', onDisconnect)
    await new Promise<void>((resolve) => this.onAnswered.push(resolve))
    socket.off('drain', onDrain).off('timeout', onDisconnect).off('end', onDisconnect)
  }

  /** Reads no further request, and closes the connection when the pending ones have their responses. */
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

  /** Cancels the pending requests of a closed connection. Node notifies only the response that was being sent. */
  close(): void {
    systemClock.clearTimer(this.timer)
    this.controller?.abort(new HoldfastError('CANCELLED', 'the client disconnected'))
    for (const res of this.pending) if (res.socket === null) res.emit('close')
  }

  /**
   * The bytes from the beginning of the request line in which the parser rejected the byte at `index` of a packet; undefined
   * where the byte is ASCII, the beginning is not known, or another request is pending.
   */
  recover(packet: Buffer | undefined, index: number): Buffer | undefined {
    const isAscii = (packet?.[index] ?? 0) < 0x80
    if (packet === undefined || isAscii) return undefined
    if (this.hasPending || this.isRecovered || this.withBody !== undefined) return undefined
    this.isRecovered = true
    return this.line.joinAt(packet, index)
  }
}

/** The open connections of clients. */
export class ClientConnections {
  private readonly all = new WeakMap<object, ClientConnection>()
  private readonly maxHeaderSize: number
  private readonly idleTimeout: number

  constructor(maxHeaderSize: number, idleTimeout: number) {
    this.maxHeaderSize = maxHeaderSize
    this.idleTimeout = idleTimeout
  }

  has(socket: Socket): boolean {
    return this.all.has(socket)
  }

  get(socket: Socket): ClientConnection {
    const found = this.all.get(socket) ?? new ClientConnection(socket, this.maxHeaderSize, this.idleTimeout)
    this.all.set(socket, found)
    return found
  }
}
