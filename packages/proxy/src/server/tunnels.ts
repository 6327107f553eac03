import type { Socket } from 'node:net'
import type { Clock } from 'holdfast'

/** Two connections that are one to those at their ends. */
interface Tunnel {
  readonly client: Socket
  readonly upstream: Socket
  /** How much had come through at the last look. */
  lastByteCount: number
}

const noop = (): void => {}

/** All tunnels that stand, and the clients that wait for one. One timer looks after those that fell silent. */
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

  /** Remembers a client that waits for its tunnel. */
  addPending(client: Socket): void {
    this.pendingClients.add(client)
    client.once('close', () => this.pendingClients.delete(client))
  }

  /** Joins the two until either is closed. `head` is what the client sent too early. */
  join(client: Socket, upstream: Socket, head: Buffer): void {
    const tunnel: Tunnel = { client, upstream, lastByteCount: -1 }
    this.pendingClients.delete(client)
    this.tunnels.add(tunnel)
    this.startTimer()
    client.setNoDelay(true)
    if (head.length > 0) upstream.write(head)
    const leave = (): void => {
      if (!this.tunnels.delete(tunnel)) return
      if (this.tunnels.size === 0) this.stopTimer()
    }
    pipeSocket(client, upstream, leave)
    pipeSocket(upstream, client, leave)
  }

  /** Resolves when the last has gone. */
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

  /** Those through which nothing has come since the last look are closed. */
  private closeIdle(): void {
    for (const tunnel of this.tunnels) {
      const { client, upstream } = tunnel
      const through = client.bytesRead + upstream.bytesRead
      if (through === tunnel.lastByteCount) {
        client.destroy()
        upstream.destroy()
      } else tunnel.lastByteCount = through
    }
  }

  private stopTimer(): void {
    if (this.timer !== undefined) this.clock.clearTimer(this.timer)
    this.timer = undefined
    this.onEmpty?.()
  }
}

/** Passes on what comes from one side, as fast as the other takes it. */
function pipeSocket(from: Socket, to: Socket, leave: () => void): void {
  from.on('data', (chunk) => {
    if (!to.write(chunk)) from.pause()
  })
  to.on('drain', () => from.resume())
  from.on('end', () => to.end())
  from.on('error', noop)
  from.on('close', () => {
    // What is on its way to the other side still goes there.
    to.destroySoon()
    leave()
  })
  from.resume()
}
