import { connect, createServer, type Server, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { findRedis, RedisServer } from '../../../scripts/servers/redis.mjs'

export { findFreePort as freePort } from '../../../scripts/servers/ports.mjs'

const program = await findRedis(fileURLToPath(new URL('../../..', import.meta.url)))

/** The reason why tests with a real Redis are skipped; undefined if they run. */
export const missing: string | undefined = typeof program === 'string' ? program : undefined

if (missing !== undefined) console.warn(`tests with a real Redis are SKIPPED: ${missing}`)

export const QUIET = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']

/** A Redis for one test, which writes nothing to the disk. */
export const RealRedis = {
  /** Starts a server; `args` returns its arguments for a port. */
  async start(args?: (port: number) => readonly string[]): Promise<RedisServer> {
    if (typeof program === 'string') throw new Error(program)
    return RedisServer.start(program, args)
  },
}
export type RealRedis = RedisServer

/** A TCP proxy to a server that can be cut and slowed down. */
export class FaultProxy {
  delay = 0
  /** A text that ends the connection on which it is sent. */
  poison: string | undefined = undefined
  onPoison = () => {}
  private readonly sockets = new Set<Socket>()
  private readonly server: Server
  private isRejecting = false
  private isSwallowing = false

  private constructor(target: number) {
    this.server = createServer((near) => {
      if (this.isRejecting) {
        near.destroy()
        return
      }
      const far = connect(target, '127.0.0.1')
      this.pass(near, far)
      this.pass(far, near)
    })
  }

  static async start(target: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(target)
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as { port: number }).port}/0`
  }

  /** Ends every connection and rejects new ones. */
  cut(): void {
    this.isRejecting = true
    for (const socket of this.sockets) socket.destroy()
  }

  /** Keeps connections open and forwards nothing. */
  swallow(): void {
    this.isSwallowing = true
  }

  restore(): void {
    this.isRejecting = false
    this.isSwallowing = false
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private pass(from: Socket, to: Socket): void {
    this.sockets.add(from)
    from.on('error', () => {})
    from.on('close', () => {
      this.sockets.delete(from)
      to.destroy()
    })
    from.on('data', (data) => {
      if (this.isSwallowing) return
      if (this.poison !== undefined && String(data).toLowerCase().includes(this.poison)) {
        this.onPoison()
        from.destroy()
        return
      }
      if (this.delay === 0) to.write(data)
      // oxlint-disable-next-line holdfast/clock -- a slow network is slow in real time
      else setTimeout(() => to.write(data), this.delay)
    })
  }
}

/** Waits until a condition is true. The timeout of the test is the only limit. */
export async function until(isTrue: () => unknown): Promise<void> {
  while (!(await isTrue()))
    // oxlint-disable-next-line holdfast/clock -- other processes and sockets use real time
    await new Promise((resolve) => setTimeout(resolve, 5))
}
