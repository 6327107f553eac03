// A PostgreSQL of the example's own, from npm, in a folder that is gone afterwards.
import { PostgresServer } from '../../../scripts/servers/postgres.mjs'

const SETTINGS = { max_connections: '14', superuser_reserved_connections: '3' }

export class Server {
  private readonly postgres: PostgresServer

  private constructor(postgres: PostgresServer) {
    this.postgres = postgres
  }

  /** Starts one with a user `rag`, who is not above the limit of connections, and a database of that name. */
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

  /** Runs a statement with the rights, and the reserved connections, of the administrator. */
  admin(text: string, database?: string): Promise<Record<string, unknown>[]> {
    return this.postgres.admin(text, database)
  }

  /** Where users find it. */
  get address(): { host: string; port: number } {
    return { host: '127.0.0.1', port: this.postgres.port }
  }

  /** Shuts it down without waiting for its clients, and starts it again. */
  async restart(): Promise<void> {
    await this.postgres.stop()
    await this.postgres.begin()
  }

  async remove(): Promise<void> {
    await this.postgres.remove()
  }
}
