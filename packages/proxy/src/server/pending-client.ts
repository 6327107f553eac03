import type { Socket } from 'node:net'
import { HoldfastError } from 'holdfast'

/** How many bytes of a client are buffered before its tunnel is open; further bytes stay in the socket. */
const MAX_EARLY_BYTES = 65_536

/** A client that waits for a tunnel or an upgrade. Its socket is read meanwhile, because a disconnect is noticed only by reading. */
export class PendingClient {
  readonly socket: Socket
  private readonly controller = new AbortController()
  private readonly early: Buffer[]
  private size: number
  private readonly onDisconnect = (): void =>
    this.controller.abort(new HoldfastError('CANCELLED', 'the client disconnected'))
  private readonly onData = (chunk: Buffer): void => {
    this.early.push(chunk)
    this.size += chunk.length
    if (this.size > MAX_EARLY_BYTES) this.socket.pause()
  }

  constructor(socket: Socket, head: Buffer) {
    const { onDisconnect, onData } = this
    this.socket = socket
    this.early = [head]
    this.size = head.length
    socket.on('error', onDisconnect).on('close', onDisconnect).on('end', onDisconnect).on('data', onData)
  }

  /** Aborted when the client disconnects. */
  get signal(): AbortSignal {
    return this.controller.signal
  }

  /** Stops reading and returns the bytes that the client has sent. */
  end(): Buffer {
    const { socket, onDisconnect, onData } = this
    socket.off('error', onDisconnect).off('close', onDisconnect).off('end', onDisconnect).off('data', onData)
    return Buffer.concat(this.early)
  }
}
