// A PostgreSQL server from npm, in a temporary folder.
import { PostgresServer } from '../../../scripts/servers/postgres.mjs'

const SETTINGS = { max_connections: '14', superuser_reserved_connections: '3' }

export class Server {
  private readonly postgres: PostgresServer

  private constructor(postgres: PostgresServer) {
    this.postgres = postgres
  }

  /** Starts a server with a user `rag`, without access to the reserved connections, and a database of the same name. */
  static async start(): Promise<Server> {
    const postgres = await PostgresServer.start(SETTINGS)
    try {
      await postgres.admin(`CREATE ROLE rag LOGIN PASSWORD 'rag'`)
      await postgres.admin('CREATE DATABASE rag OWNER rag')
      return new Server(postgres)
    } catch (error) {
      await postgres.remove()
      throw error
    }
  }

  /** Runs a statement as the administrator, over a reserved connection. */
  admin(text: string, database?: string): Promise<Record<string, unknown>[]> {
    return this.postgres.admin(text, database)
  }

  /** The address for clients. */
  get address(): { host: string; port: number } {
    return { host: '127.0.0.1', port: this.postgres.port }
  }

  /** Stops the server without waiting for clients, and starts it again. */
  async restart(): Promise<void> {
    await this.postgres.stop()
    await this.postgres.begin()
  }

  async remove(): Promise<void> {
    await this.postgres.remove()
  }
}
