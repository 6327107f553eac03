import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { HoldfastError } from 'holdfast'
import { type ClientState, ReplyChecker } from './reply-checker.js'

/** The methods that are used of an ioredis client. The package is loaded only if a fleet is configured. */
export interface RedisClient {
  status: string
  connect(): Promise<void>
  disconnect(reconnect?: boolean): void
  on(event: string, listener: (...args: never[]) => void): unknown
  call(command: string, ...args: (string | number)[]): Promise<unknown>
  subscribe(...channels: string[]): Promise<unknown>
}

/** The state of an ioredis client that decides what it can receive. A substitute for ioredis has none. */
interface InnerClient {
  readonly connector?: Connector
  readonly commandQueue?: { peekFront(): { readonly command: { readonly name: string } } | undefined }
  readonly condition?: { readonly subscriber: unknown; readonly protocol?: number } | null
}

interface ClientSettings {
  lazyConnect: boolean
  enableOfflineQueue: boolean
  maxRetriesPerRequest: number
  autoResubscribe: boolean
  autoResendUnfulfilledCommands: boolean
  connectTimeout: number
  retryStrategy(times: number): number
  [more: string]: unknown
}

/** The parts of the ioredis package that are used. */
export interface RedisPackage {
  Redis: new (settings: object) => RedisClient
  Cluster: new (nodes: object[], settings: object) => RedisClient
  AbstractConnector: { prototype: Connector }
}

/** Creates each connection of ioredis, including those of a cluster's subscriptions and to a sentinel. */
interface Connector {
  options: { tls?: object }
  stream?: Socket
}

/** How a fleet reaches Redis. Tests and simulations pass another one. */
export interface RedisDriver {
  /** Loads the package. @throws INVALID_OPTIONS if it is not installed */
  load(): Promise<RedisPackage>
  /** Calls `fn` when replies that have arrived already are read. */
  afterPendingReads(fn: () => void): void
}

export interface RedisConnectOptions {
  /** Milliseconds before the next connection attempt. */
  backoff(times: number): number
  /** Resolves the path of a file that the url names. */
  resolvePath(path: string): string
}

const URL_FORMATS =
  'redis://HOST:PORT/DB, rediss://…, ?cluster=true with more nodes as &node=HOST:PORT, or ?sentinel=NAME; for TLS also ' +
  'ca=FILE, cert=FILE and key=FILE'

const URL_PARAMETERS = ['cluster', 'sentinel', 'node', 'ca', 'cert', 'key']

const createUrlError = (problem: string, cause?: unknown) =>
  new HoldfastError('INVALID_OPTIONS', `shared: ${problem}; expected ${URL_FORMATS}`, { cause })

/** Loads ioredis. @throws INVALID_OPTIONS if it is not installed */
async function loadRedis(): Promise<RedisPackage> {
  try {
    return (await import('ioredis')) as unknown as RedisPackage
  } catch (cause) {
    throw new HoldfastError(
      'INVALID_OPTIONS',
      'shared: a fleet needs the package ioredis: npm install ioredis',
      { cause },
    )
  }
}

/** Redis through ioredis. */
export const ioredisDriver: RedisDriver = {
  load: loadRedis,
  // In a busy process a reply may have arrived without being read: the event loop reads it before the second callback.
  afterPendingReads: (fn) => setImmediate(() => setImmediate(fn)),
}

const parseHostPort = (text: string, defaultPort: number) => {
  if (!URL.canParse(`redis://${text}`)) throw createUrlError('expected HOST:PORT as node')
  const url = new URL(`redis://${text}`)
  return { host: url.hostname, port: Number(url.port || defaultPort) }
}

/** Reads the certificate files that a url names. */
function readTlsFiles(
  parameters: URLSearchParams,
  path: RedisConnectOptions['resolvePath'],
): Record<string, string> {
  const tls: Record<string, string> = {}
  for (const name of ['ca', 'cert', 'key']) {
    const file = parameters.get(name)
    if (file === null) continue
    try {
      tls[name] = readFileSync(path(file), 'utf8')
    } catch (cause) {
      throw createUrlError(`cannot read the file of ${name}: ${file}`, cause)
    }
  }
  return tls
}

/** The TLS settings of clients that were created here. ioredis passes them on to every client that it creates itself. */
const ownTlsSettings = new WeakSet<object>()

/** The stream of each connector that has one. */
const streamByConnector = new WeakMap<Connector, Socket>()

/** The clients that were created here, by their connectors. */
const clientByConnector = new WeakMap<Connector, InnerClient>()

/**
 * Checks the replies to clients that were created here, and destroys a broken stream of theirs.
 *
 * ioredis listens only to the first error of a stream. A TLS stream can emit two, a broken record and then the end of the
 * connection, and stays open after the first. The second error would end the process, so streams of this package are destroyed
 * at the first error and keep an error listener.
 */
function patchStreams({ AbstractConnector: { prototype } }: RedisPackage): void {
  if (Object.hasOwn(prototype, 'stream')) return
  Object.defineProperty(prototype, 'stream', {
    get(this: Connector) {
      return streamByConnector.get(this)
    },
    set(this: Connector, stream: Socket) {
      streamByConnector.set(this, stream)
      if (ownTlsSettings.has(this.options.tls ?? {})) stream.on('error', () => stream.destroy())
      const client = clientByConnector.get(this)
      if (client !== undefined) checkReplies(stream, client)
    },
  })
}

/** Checks all bytes before ioredis reads them. A reply that is not valid ends the connection. */
function checkReplies(stream: Socket, client: InnerClient): void {
  const addListener = stream.prependListener.bind(stream)
  stream.prependListener = (event: string, listener: (...args: never[]) => void) => {
    if (event !== 'data') return addListener(event, listener as () => void)
    const checker = new ReplyChecker(() => stateOf(client), listener as unknown as (bytes: Buffer) => void)
    return addListener('data', (chunk: Buffer) => {
      try {
        checker.read(chunk)
      } catch (error) {
        stream.destroy(error as Error)
      }
    })
  }
}

const stateOf = ({ commandQueue, condition }: InnerClient): ClientState => ({
  command: commandQueue?.peekFront()?.command.name,
  isSubscriber: Boolean(condition?.subscriber) && condition?.protocol !== 3,
})

/**
 * Lets the replies to a client be checked when it connects. Clients that ioredis creates by itself are not checked: the one that asks a
 * sentinel for the primary, and those for the slots and the messages of a cluster.
 */
function checkClient(client: InnerClient): void {
  if (client.connector !== undefined) clientByConnector.set(client.connector, client)
}

/**
 * Creates a client for a url, without connecting it. Error messages repeat only the scheme of the url and the names of its
 * parameters, because the rest can contain a password.
 *
 * @throws INVALID_OPTIONS for a url that is not valid
 */
export function createClient(redis: RedisPackage, url: string, options: RedisConnectOptions): RedisClient {
  const { Redis, Cluster } = redis
  if (!URL.canParse(url)) throw createUrlError('not a valid url')
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(url)
  if (protocol !== 'redis:' && protocol !== 'rediss:') throw createUrlError(`unknown scheme '${protocol}'`)
  const unknown = [...searchParams.keys()].filter((name) => !URL_PARAMETERS.includes(name))
  if (unknown.length > 0) throw createUrlError(`unknown parameter ${unknown.join(', ')}`)
  const db = Number(pathname.slice(1) || 0)
  if (!Number.isInteger(db) || db < 0) throw createUrlError('expected a database number after the port')
  const tls = protocol === 'rediss:' ? readTlsFiles(searchParams, options.resolvePath) : undefined
  if (tls) ownTlsSettings.add(tls)
  patchStreams(redis)
  const settings: ClientSettings = {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // RedisConnection subscribes again itself, and callers repeat their commands. Rejections of attempts that the client makes on
    // its own are not handled anywhere and would end the process.
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    connectTimeout: 2000,
    retryStrategy: options.backoff,
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(tls && { tls }),
  }
  const sentinel = searchParams.get('sentinel')
  const addresses = (defaultPort: number) => [
    { host: hostname || '127.0.0.1', port: Number(port || defaultPort) },
    ...searchParams.getAll('node').map((node) => parseHostPort(node, defaultPort)),
  ]
  if (searchParams.get('cluster') === 'true') {
    if (db !== 0) throw createUrlError('expected no database with cluster=true, a cluster has only one')
    const cluster = new Cluster(addresses(6379), {
      lazyConnect: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: options.backoff,
      redisOptions: settings,
    })
    cluster.on('+node', (node: InnerClient) => checkClient(node))
    return cluster
  }
  const client =
    sentinel === null
      ? new Redis({ ...settings, db, ...addresses(6379)[0] })
      : new Redis({
          ...settings,
          db,
          name: sentinel,
          sentinels: addresses(26379),
          sentinelRetryStrategy: options.backoff,
          ...(tls && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
        })
  checkClient(client as InnerClient)
  return client
}
