import { HoldfastError } from 'holdfast'
import type { PostgresValue } from './statements/parameters.js'

export type PostgresRow = Record<string, unknown>

interface PostgresResult {
  rows: PostgresRow[]
  rowCount: number | null
}

/** The used part of a client of `pg`. */
export interface PostgresClient {
  connect(): Promise<unknown>
  query(text: string, values?: readonly PostgresValue[]): Promise<PostgresResult | PostgresResult[]>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown
  on(event: 'end', listener: () => void): unknown
  end(): Promise<void>
  /** The connection with its socket. */
  readonly connection?: { readonly stream?: { destroy(): unknown; unref?(): unknown } }
}

/** A client of a pool. After a release with an error, or true, it is not used again. */
export interface PooledClient extends PostgresClient {
  release(broken?: Error | boolean): void
}

export interface ClientPool {
  connect(): Promise<PooledClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect' | 'remove', listener: (client: PostgresClient) => void): unknown
  end(): Promise<void>
}

interface ClientOptions {
  connectionString: string
  application_name: string
  connectionTimeoutMillis: number
  /** How long the client itself waits for a reply, because a lost server cannot cancel a statement. */
  query_timeout: number
  keepAlive: boolean
  /** Whether statements are sent before the replies to earlier ones. */
  pipeline: boolean
}

export interface PostgresDriver {
  Client: new (options: ClientOptions) => PostgresClient
  Pool: new (
    options: ClientOptions & { max: number; idleTimeoutMillis: number; allowExitOnIdle: boolean },
  ) => ClientPool
}

/** Loads `pg`, an optional dependency. @throws STORE_UNAVAILABLE if it is not installed */
export async function loadPostgresDriver(
  load: () => Promise<unknown> = () => import('pg'),
): Promise<PostgresDriver> {
  try {
    const found = (await load()) as Partial<PostgresDriver> & { default?: PostgresDriver }
    return found.default ?? (found as PostgresDriver)
  } catch (cause) {
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      "a store in PostgreSQL needs the package 'pg', which cannot be loaded; install it: npm install pg",
      { cause, status: 503 },
    )
  }
}
