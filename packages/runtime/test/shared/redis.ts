import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const CACHE = fileURLToPath(new URL('../../../../.cache/redis', import.meta.url))

/** What Debian's server needs besides what every Debian has. */
const PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'libatomic1']

interface Program {
  readonly file: string
  readonly env: Record<string, string | undefined>
}

const onPath = (name: string): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(':')
    .map((dir) => join(dir, name))
    .find(existsSync)

/** Unpacks Debian's packages into the cache, without installing them. */
function unpacked(): Program {
  // redis-server is a link to redis-check-rdb, which is the same program under another name.
  const file = join(CACHE, 'usr/bin/redis-server')
  if (!existsSync(file)) {
    mkdirSync(CACHE, { recursive: true })
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-redis-deb-'))
    try {
      execFileSync('apt-get', ['download', ...PACKAGES], { cwd: folder, stdio: 'pipe' })
      for (const deb of readdirSync(folder))
        execFileSync('dpkg', ['-x', join(folder, deb), CACHE], { stdio: 'pipe' })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const libraries = ['usr/lib', 'lib'].flatMap((dir) => {
    const root = join(CACHE, dir)
    return existsSync(root) ? [root, ...readdirSync(root).map((name) => join(root, name))] : []
  })
  return { file, env: { ...process.env, LD_LIBRARY_PATH: libraries.join(':') } }
}

function findProgram(): Program | string {
  const file = onPath('redis-server') ?? onPath('valkey-server')
  if (file !== undefined) return { file, env: process.env }
  try {
    const program = unpacked()
    execFileSync(program.file, ['--version'], { env: program.env, stdio: 'pipe' })
    return program
  } catch (error) {
    return `no Redis on the PATH, and Debian's packages could not be unpacked: ${(error as Error).message}`
  }
}

const program = findProgram()

/** Why tests with a real Redis are skipped; undefined where they are not. */
export const missing: string | undefined = typeof program === 'string' ? program : undefined

if (missing !== undefined) console.warn(`tests with a real Redis are SKIPPED: ${missing}`)

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** A Redis of its own, which keeps nothing on disk. */
export class RealRedis {
  readonly port: number
  private child: ReturnType<typeof spawn> | undefined

  private constructor(port: number) {
    this.port = port
  }

  static async start(): Promise<RealRedis> {
    for (let tries = 0; ; tries++) {
      const redis = new RealRedis(await freePort())
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
    const args = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    const child = spawn(program.file, args, {
      env: program.env as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child = child
    await new Promise<void>((resolve, reject) => {
      let said = ''
      child.stdout.on('data', (text) => {
        said += text
        if (said.includes('Ready to accept connections')) resolve()
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
