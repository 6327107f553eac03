import type { Socket } from 'node:net'
import type { Clock } from 'holdfast'

/** Two connections that are one to those at their ends. */
interface Tunnel {
  readonly client: Socket
  readonly upstream: Socket
  /** How much had come through at the last look. */
  seen: number
}

const noop = (): void => {}

/** All tunnels that stand, and the clients that wait for one. One timer looks after those that fell silent. */
export class Tunnels {
  private readonly all = new Set<Tunnel>()
  private readonly waiting = new Set<Socket>()
  private readonly idleTimeout: number
  private readonly clock: Clock
  private timer: unknown = undefined
  private onEmpty: (() => void) | undefined = undefined

  constructor(idleTimeout: number, clock: Clock) {
    this.idleTimeout = idleTimeout
    this.clock = clock
  }

  get size(): number {
    return this.all.size
  }

  /** Remembers a client that waits for its tunnel. */
  expect(client: Socket): void {
    this.waiting.add(client)
    client.once('close', () => this.waiting.delete(client))
  }

  /** Joins the two until either is closed. `head` is what the client sent too early. */
  join(client: Socket, upstream: Socket, head: Buffer): void {
    const tunnel: Tunnel = { client, upstream, seen: -1 }
    this.waiting.delete(client)
    this.all.add(tunnel)
    this.watch()
    client.setNoDelay(true)
    if (head.length > 0) upstream.write(head)
    const leave = (): void => {
      if (!this.all.delete(tunnel)) return
      if (this.all.size === 0) this.rest()
    }
    relay(client, upstream, leave)
    relay(upstream, client, leave)
  }

  /** Resolves when the last has gone. */
  emptied(): Promise<void> {
    return new Promise((resolve) => {
      if (this.all.size === 0) resolve()
      else this.onEmpty = resolve
    })
  }

  destroyAll(): void {
    for (const client of this.waiting) client.destroy()
    for (const { client, upstream } of this.all) {
      client.destroy()
      upstream.destroy()
    }
  }

  private watch(): void {
    this.timer ??= this.clock.setTimer(() => {
      this.timer = undefined
      this.sweep()
      if (this.all.size > 0) this.watch()
    }, this.idleTimeout)
  }

  /** Those through which nothing has come since the last look are closed. */
  private sweep(): void {
    for (const tunnel of this.all) {
      const { client, upstream } = tunnel
      const through = client.bytesRead + upstream.bytesRead
      if (through === tunnel.seen) {
        client.destroy()
        upstream.destroy()
      } else tunnel.seen = through
    }
  }

  private rest(): void {
    if (this.timer !== undefined) this.clock.clearTimer(this.timer)
    this.timer = undefined
    this.onEmpty?.()
  }
}

/** Passes on what comes from one side, as fast as the other takes it. */
function relay(from: Socket, to: Socket, leave: () => void): void {
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
