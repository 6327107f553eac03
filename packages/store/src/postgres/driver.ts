import { HoldfastError } from 'holdfast'
import { ReplyChecker } from './replies.js'
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
  readonly connection?: { readonly stream?: ClientSocket }
}

interface ClientSocket {
  on(event: string, listener: (data: Buffer) => void): unknown
  destroy(error?: Error): unknown
  unref?(): unknown
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
  Pool: new (options: PoolOptions) => ClientPool
}

interface PoolOptions extends ClientOptions {
  max: number
  idleTimeoutMillis: number
  allowExitOnIdle: boolean
}

type ConnectCallback = (error: Error | undefined, ...rest: unknown[]) => void

/** The parts of `pg` that a checked client replaces. */
interface InnerClient {
  connect(callback?: ConnectCallback): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  readonly connection: {
    readonly stream: ClientSocket
    /** Reads the replies from a socket; called again with the socket of TLS. */
    attachListeners(stream: Pick<ClientSocket, 'on'>): void
  }
}

/**
 * The driver with clients that survive every reply. The clients of `pg` read replies in an event handler of the socket, so that a
 * reply that is not valid would end the process. Here it ends the connection: its statements fail, and the pool opens a new one.
 */
function withCheckedReplies({ Client, Pool }: PostgresDriver): PostgresDriver {
  const InnerClient = Client as unknown as new (options: ClientOptions) => InnerClient
  class CheckedClient extends InnerClient {
    constructor(options: ClientOptions) {
      super(options)
      const { connection } = this
      // After an error a client is not usable, but `pg` leaves its connection open. A pool listens only after the connect, and an
      // error of the authentication is emitted before it.
      this.on('error', () => connection.stream.destroy())
      const attachListeners = connection.attachListeners.bind(connection)
      connection.attachListeners = (stream) =>
        attachListeners({
          on(event, listener) {
            if (event !== 'data') return stream.on(event, listener)
            const checker = new ReplyChecker(listener)
            return stream.on(event, (chunk) => {
              try {
                checker.read(chunk)
              } catch (error) {
                connection.stream.destroy(error as Error)
              }
            })
          },
        })
    }

    override connect(callback?: ConnectCallback): unknown {
      if (callback === undefined)
        return new Promise((resolve, reject) => {
          this.connect((error) => (error ? reject(error) : resolve(this)))
        })
      let isSettled = false
      return super.connect((error, ...rest) => {
        // A server that sends an error can still send that it is ready.
        if (isSettled) return
        isSettled = true
        // `pg` waits for the server to close the connection.
        if (error) this.connection.stream.destroy()
        callback(error, ...rest)
      })
    }
  }
  const Checked = CheckedClient as unknown as PostgresDriver['Client']
  return {
    Client: Checked,
    Pool: class extends Pool {
      constructor(options: PoolOptions) {
        super({ ...options, Client: Checked } as PoolOptions)
      }
    },
  }
}

/** Loads `pg`, an optional dependency. @throws STORE_UNAVAILABLE if it is not installed */
export async function loadPostgresDriver(
  load: () => Promise<unknown> = () => import('pg'),
): Promise<PostgresDriver> {
  try {
    const found = (await load()) as Partial<PostgresDriver> & { default?: PostgresDriver }
    return withCheckedReplies(found.default ?? (found as PostgresDriver))
  } catch (cause) {
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      "a store in PostgreSQL needs the package 'pg', which cannot be loaded; install it: npm install pg",
      { cause, status: 503 },
    )
  }
}
