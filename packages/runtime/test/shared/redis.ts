import { spawn } from 'node:child_process'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { findRedis } from '../../../../scripts/redis.mjs'

const program = findRedis(fileURLToPath(new URL('../../../..', import.meta.url)))

/** Why tests with a real Redis are skipped; undefined where they are not. */
export const missing: string | undefined = typeof program === 'string' ? program : undefined

if (missing !== undefined) console.warn(`tests with a real Redis are SKIPPED: ${missing}`)

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

export const QUIET = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
const plain = (port: number) => ['--port', String(port), ...QUIET]

/** A Redis of its own, which keeps nothing on disk. */
export class RealRedis {
  readonly port: number
  private readonly args: readonly string[]
  private child: ReturnType<typeof spawn> | undefined

  private constructor(port: number, args: readonly string[]) {
    this.port = port
    this.args = args
  }

  /** Starts one; `args` are what it is told besides, for its port. */
  static async start(args: (port: number) => readonly string[] = plain): Promise<RealRedis> {
    for (let tries = 0; ; tries++) {
      const port = await freePort()
      const redis = new RealRedis(port, args(port))
      try {
        await redis.up()
        return redis
      } catch (error) {
        if (tries === 4) throw error // somebody else may have taken the port
      }
    }
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}/0`
  }

  /** Starts it, empty. */
  async up(): Promise<void> {
    if (typeof program === 'string') throw new Error(program)
    const child = spawn(program.file, this.args, {
      cwd: tmpdir(), // a replica writes what it is sent to where it stands
      env: program.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child = child
    const reap = () => child.kill('SIGKILL') // a test that timed out closes nothing
    process.once('exit', reap)
    child.once('exit', () => process.removeListener('exit', reap))
    await new Promise<void>((resolve, reject) => {
      let said = ''
      child.stdout.on('data', (text) => {
        said += text
        if (/Ready to accept connections|Sentinel ID is/.test(said)) resolve()
      })
      child.once('exit', () => reject(new Error(`redis-server ended: ${said}`)))
    })
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal)
  }

  /** Kills it, as a crash would. */
  async kill(): Promise<void> {
    const { child } = this
    this.child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }
}

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
