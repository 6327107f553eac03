import type { Socket } from 'node:net'
import type { Clock } from 'holdfast'

/** A pair of connected sockets. */
interface Tunnel {
  readonly client: Socket
  readonly upstream: Socket
  /** The number of transferred bytes at the last check. */
  lastByteCount: number
}

const noop = (): void => {}

/** The open tunnels, and the clients that wait for one. One timer closes idle tunnels. */
export class TunnelRegistry {
  private readonly tunnels = new Set<Tunnel>()
  private readonly pendingClients = new Set<Socket>()
  private readonly idleTimeout: number
  private readonly clock: Clock
  private timer: unknown = undefined
  private onEmpty: (() => void) | undefined = undefined

  constructor(idleTimeout: number, clock: Clock) {
    this.idleTimeout = idleTimeout
    this.clock = clock
  }

  get size(): number {
    return this.tunnels.size
  }

  /** Adds a client that waits for its tunnel. */
  addPending(client: Socket): void {
    this.pendingClients.add(client)
    client.once('close', () => this.pendingClients.delete(client))
  }

  /** Connects two sockets until one of them is closed. `head` holds the bytes that the client sent before. */
  join(client: Socket, upstream: Socket, head: Buffer): void {
    const tunnel: Tunnel = { client, upstream, lastByteCount: -1 }
    this.pendingClients.delete(client)
    this.tunnels.add(tunnel)
    this.startTimer()
    client.setNoDelay(true)
    if (head.length > 0) upstream.write(head)
    const onClose = (): void => {
      if (!this.tunnels.delete(tunnel)) return
      if (this.tunnels.size === 0) this.stopTimer()
    }
    pipeSocket(client, upstream, onClose)
    pipeSocket(upstream, client, onClose)
  }

  /** Resolves when no tunnel is open. */
  whenEmpty(): Promise<void> {
    return new Promise((resolve) => {
      if (this.tunnels.size === 0) resolve()
      else this.onEmpty = resolve
    })
  }

  destroyAll(): void {
    for (const client of this.pendingClients) client.destroy()
    for (const { client, upstream } of this.tunnels) {
      client.destroy()
      upstream.destroy()
    }
  }

  private startTimer(): void {
    this.timer ??= this.clock.setTimer(() => {
      this.timer = undefined
      this.closeIdle()
      if (this.tunnels.size > 0) this.startTimer()
    }, this.idleTimeout)
  }

  /** Closes tunnels without traffic since the last check. */
  private closeIdle(): void {
    for (const tunnel of this.tunnels) {
      const { client, upstream } = tunnel
      const byteCount = client.bytesRead + upstream.bytesRead
      if (byteCount === tunnel.lastByteCount) {
        client.destroy()
        upstream.destroy()
      } else tunnel.lastByteCount = byteCount
    }
  }

  private stopTimer(): void {
    if (this.timer !== undefined) this.clock.clearTimer(this.timer)
    this.timer = undefined
    this.onEmpty?.()
  }
}

/** Forwards the bytes of one socket to another, with backpressure. */
function pipeSocket(from: Socket, to: Socket, onClose: () => void): void {
  from.on('data', (chunk) => {
    if (!to.write(chunk)) from.pause()
  })
  to.on('drain', () => from.resume())
  from.on('end', () => to.end())
  from.on('error', noop)
  from.on('close', () => {
    // Buffered bytes are still sent to the other side.
    to.destroySoon()
    onClose()
  })
  from.resume()
}
