import type { Socket } from 'node:net'
import { HoldfastError } from 'holdfast'

/** How many bytes a client may send before its tunnel is open; more are left in the socket. */
const MAX_EARLY_BYTES = 65_536

/** A client that waits for a tunnel or an upgrade. Its connection is read meanwhile, since only that shows that a client left. */
export class PendingClient {
  readonly socket: Socket
  private readonly controller = new AbortController()
  private readonly early: Buffer[]
  private size: number
  private readonly onLeft = (): void =>
    this.controller.abort(new HoldfastError('CANCELLED', 'the client disconnected'))
  private readonly onData = (chunk: Buffer): void => {
    this.early.push(chunk)
    this.size += chunk.length
    if (this.size > MAX_EARLY_BYTES) this.socket.pause()
  }

  constructor(socket: Socket, head: Buffer) {
    const { onLeft, onData } = this
    this.socket = socket
    this.early = [head]
    this.size = head.length
    socket.on('error', onLeft).on('close', onLeft).on('end', onLeft).on('data', onData)
  }

  /** Aborted when the client is gone. */
  get signal(): AbortSignal {
    return this.controller.signal
  }

  /** Ends the wait and returns what the client sent meanwhile. */
  end(): Buffer {
    const { socket, onLeft, onData } = this
    socket.off('error', onLeft).off('close', onLeft).off('end', onLeft).off('data', onData)
    return Buffer.concat(this.early)
  }
}
