import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { HoldfastError } from 'holdfast'
import { encodeUrl } from './raw-url.js'

/** The connection of a client: its requests that have no response yet, and what may still be read from it. */
export class ClientConnection {
  /** Whether nothing more is read: the response to what was read closes the connection. */
  isLast = false
  /** Whether a request was read anew, by another parser. */
  isRecovered = false
  private readonly socket: Socket
  /** In the order of their requests. Nothing else may be written to the connection before them. */
  private readonly pending = new Set<ServerResponse>()
  /** How many bytes had been read when the last request was complete. */
  private readUpTo = 0
  private controller: AbortController | undefined = undefined
  private readonly onAnswered: (() => void)[] = []

  constructor(socket: Socket) {
    this.socket = socket
  }

  /** Aborted when the client is gone. One for all requests of the connection, since each makes its call slower. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    return this.controller.signal
  }

  get hasPending(): boolean {
    return this.pending.size > 0
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

  /** Notes a request. */
  add(req: IncomingMessage, res: ServerResponse, hasBody: boolean): void {
    this.pending.add(res)
    if (hasBody) req.once('end', () => this.noteEnd())
    else this.noteEnd()
  }

  /** Notes that a response is complete, or never will be. */
  delete(res: ServerResponse): void {
    this.pending.delete(res)
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
    if (last?.headersSent === false) last.shouldKeepAlive = false
    this.onAnswered.push(() => this.socket.destroySoon())
  }

  /** Notes that the connection is closed. Node tells only the response whose turn it was. */
  close(): void {
    this.controller?.abort(new HoldfastError('CANCELLED', 'the client went away'))
    for (const res of this.pending) if (res.socket === null) res.emit('close')
  }

  /**
   * What a parser has to read in place of a request whose URL another one refused; undefined where the refusal stands. That
   * request is the last of its connection.
   */
  recover(packet: Buffer | undefined): Buffer | undefined {
    if (packet === undefined || this.hasPending || this.isRecovered) return undefined
    // The first line must begin with the packet: what came before cannot be read again.
    if (this.socket.bytesRead - packet.length !== this.readUpTo) return undefined
    const encoded = encodeUrl(packet)
    this.isRecovered = encoded !== undefined
    return encoded
  }

  private noteEnd(): void {
    this.readUpTo = this.socket.bytesRead
  }
}

/** The connections of clients that there are. */
export class ClientConnections {
  private readonly all = new WeakMap<object, ClientConnection>()

  has(socket: Socket): boolean {
    return this.all.has(socket)
  }

  get(socket: Socket): ClientConnection {
    const found = this.all.get(socket) ?? new ClientConnection(socket)
    this.all.set(socket, found)
    return found
  }
}
