import { connect, createServer, type Server, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { findRedis, RedisServer } from '../../../scripts/servers/redis.mjs'

export { findFreePort as freePort } from '../../../scripts/servers/ports.mjs'

const program = await findRedis(fileURLToPath(new URL('../../..', import.meta.url)))

/** Why tests with a real Redis are skipped; undefined where they are not. */
export const missing: string | undefined = typeof program === 'string' ? program : undefined

if (missing !== undefined) console.warn(`tests with a real Redis are SKIPPED: ${missing}`)

export const QUIET = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']

/** A Redis of a test's own, which writes nothing to the disk. */
export const RealRedis = {
  /** Starts one; `args` are its arguments, for its port. */
  async start(args?: (port: number) => readonly string[]): Promise<RedisServer> {
    if (typeof program === 'string') throw new Error(program)
    return RedisServer.start(program, args)
  },
}
export type RealRedis = RedisServer

/** A way to a server that can be cut and slowed down. */
export class FaultProxy {
  delay = 0
  /** What ends a connection that says it. */
  poison: string | undefined = undefined
  poisoned = () => {}
  private readonly sockets = new Set<Socket>()
  private readonly server: Server
  private refusing = false
  private deaf = false

  private constructor(target: number) {
    this.server = createServer((near) => {
      if (this.refusing) {
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

  /** Ends every connection and refuses others. */
  cut(): void {
    this.refusing = true
    for (const socket of this.sockets) socket.destroy()
  }

  /** Connections stay, and nothing passes any more. */
  swallow(): void {
    this.deaf = true
  }

  mend(): void {
    this.refusing = false
    this.deaf = false
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
      if (this.deaf) return
      if (this.poison !== undefined && String(data).toLowerCase().includes(this.poison)) {
        this.poisoned()
        from.destroy()
        return
      }
      if (this.delay === 0) to.write(data)
      // oxlint-disable-next-line holdfast/clock -- a slow network is slow in real time
      else setTimeout(() => to.write(data), this.delay)
    })
  }
}

/** Waits until something is so, however long that takes; the test's own limit ends it. */
export async function until(isSo: () => unknown): Promise<void> {
  while (!(await isSo()))
    // oxlint-disable-next-line holdfast/clock -- other processes and sockets go by real time
    await new Promise((resolve) => setTimeout(resolve, 5))
}
