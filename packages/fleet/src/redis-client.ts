import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { HoldfastError } from 'holdfast'

/** What is used of an ioredis client. It is described here, and loaded only where a fleet is configured. */
export interface RedisClient {
  status: string
  connect(): Promise<void>
  disconnect(reconnect?: boolean): void
  on(event: string, listener: (...args: never[]) => void): unknown
  call(command: string, ...args: (string | number)[]): Promise<unknown>
  subscribe(...channels: string[]): Promise<unknown>
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

/** What makes each connection of ioredis, those of a cluster's subscriptions and to a sentinel too. */
interface Connector {
  options: { tls?: object }
  stream?: Socket
}

export interface RedisConnectOptions {
  /** How long to wait before the next try to connect. */
  backoff(times: number): number
  /** Where a file of the url lies. */
  resolvePath(path: string): string
}

const URL_FORMATS =
  'redis://HOST:PORT/DB, rediss://…, ?cluster=true with more nodes as &node=HOST:PORT, or ?sentinel=NAME; for TLS also ' +
  'ca=FILE, cert=FILE and key=FILE'

const URL_PARAMETERS = ['cluster', 'sentinel', 'node', 'ca', 'cert', 'key']

const createUrlError = (problem: string, cause?: unknown) =>
  new HoldfastError('INVALID_OPTIONS', `shared ${problem}; it takes ${URL_FORMATS}`, { cause })

/** Loads ioredis. @throws INVALID_OPTIONS where it is not installed */
export async function loadRedis(): Promise<RedisPackage> {
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

const parseHostPort = (text: string, port: number) => {
  if (!URL.canParse(`redis://${text}`)) throw createUrlError('names a node that is no HOST:PORT')
  const url = new URL(`redis://${text}`)
  return { host: url.hostname, port: Number(url.port || port) }
}

/** The certificates that a url names. */
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
      throw createUrlError(`names a file that cannot be read as its ${name}: ${file}`, cause)
    }
  }
  return tls
}

/** The TLS settings of clients that were made here: ioredis hands them on to every client it makes by itself. */
const ownTlsSettings = new WeakSet<object>()

/** The stream of a connector that was given one. */
const streamByConnector = new WeakMap<Connector, Socket>()

/**
 * ioredis listens to the first error of a stream. TLS may tell of two, a broken record and then the end of the connection, and
 * leaves the stream open after the first. The second would end the process, so ours end at the first and hear all.
 */
function patchStreamErrors({ AbstractConnector: { prototype } }: RedisPackage): void {
  if (Object.hasOwn(prototype, 'stream')) return
  Object.defineProperty(prototype, 'stream', {
    get(this: Connector) {
      return streamByConnector.get(this)
    },
    set(this: Connector, stream: Socket) {
      streamByConnector.set(this, stream)
      if (ownTlsSettings.has(this.options.tls ?? {})) stream.on('error', () => stream.destroy())
    },
  })
}

/** Makes a client for a url, which is not connected yet. What follows the scheme is never repeated: it may hold a password. */
export function createClient(redis: RedisPackage, url: string, options: RedisConnectOptions): RedisClient {
  const { Redis, Cluster } = redis
  if (!URL.canParse(url)) throw createUrlError('is no url')
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(url)
  if (protocol !== 'redis:' && protocol !== 'rediss:')
    throw createUrlError(`has the unknown scheme '${protocol}'`)
  const unknown = [...searchParams.keys()].filter((name) => !URL_PARAMETERS.includes(name))
  if (unknown.length > 0) throw createUrlError(`has the unknown parameter ${unknown.join(', ')}`)
  const db = Number(pathname.slice(1) || 0)
  if (!Number.isInteger(db) || db < 0) throw createUrlError('names a database that is no number')
  const tls = protocol === 'rediss:' ? readTlsFiles(searchParams, options.resolvePath) : undefined
  if (tls) {
    ownTlsSettings.add(tls)
    patchStreamErrors(redis)
  }
  const settings: ClientSettings = {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // What was not answered is asked again by those who asked, and the wire listens by itself: nobody handles what fails of
    // the client's own attempts at either, which would end the process.
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    connectTimeout: 2000,
    retryStrategy: options.backoff,
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(tls && { tls }),
  }
  const sentinel = searchParams.get('sentinel')
  const places = (standard: number) => [
    { host: hostname || '127.0.0.1', port: Number(port || standard) },
    ...searchParams.getAll('node').map((node) => parseHostPort(node, standard)),
  ]
  if (searchParams.get('cluster') === 'true') {
    if (db !== 0) throw createUrlError('names a database, of which a cluster has only one')
    return new Cluster(places(6379), {
      lazyConnect: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: options.backoff,
      redisOptions: settings,
    })
  }
  if (sentinel !== null)
    return new Redis({
      ...settings,
      db,
      name: sentinel,
      sentinels: places(26379),
      sentinelRetryStrategy: options.backoff,
      ...(tls && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
    })
  return new Redis({ ...settings, db, ...places(6379)[0] })
}
