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

interface Settings {
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

export interface ConnectOptions {
  /** How long to wait before the next try to connect. */
  backoff(times: number): number
  /** Where a file of the url lies. */
  path(path: string): string
}

const FORMS =
  'redis://HOST:PORT/DB, rediss://…, ?cluster=true with more nodes as &node=HOST:PORT, or ?sentinel=NAME; for TLS also ' +
  'ca=FILE, cert=FILE and key=FILE'

const PARAMETERS = ['cluster', 'sentinel', 'node', 'ca', 'cert', 'key']

const bad = (what: string, cause?: unknown) =>
  new HoldfastError('INVALID_OPTIONS', `shared ${what}; it takes ${FORMS}`, { cause })

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

const placeOf = (text: string, port: number) => {
  if (!URL.canParse(`redis://${text}`)) throw bad('names a node that is no HOST:PORT')
  const url = new URL(`redis://${text}`)
  return { host: url.hostname, port: Number(url.port || port) }
}

/** The certificates that a url names. */
function tlsOf(parameters: URLSearchParams, path: ConnectOptions['path']): Record<string, string> {
  const tls: Record<string, string> = {}
  for (const name of ['ca', 'cert', 'key']) {
    const file = parameters.get(name)
    if (file === null) continue
    try {
      tls[name] = readFileSync(path(file), 'utf8')
    } catch (cause) {
      throw bad(`names a file that cannot be read as its ${name}: ${file}`, cause)
    }
  }
  return tls
}

/** The TLS settings of clients that were made here: ioredis hands them on to every client it makes by itself. */
const made = new WeakSet<object>()

/** The stream of a connector that was given one. */
const streams = new WeakMap<Connector, Socket>()

/**
 * ioredis listens to the first error of a stream. TLS may tell of two, a broken record and then the end of the connection, and
 * leaves the stream open after the first. The second would end the process, so ours end at the first and hear all.
 */
function hearErrors({ AbstractConnector: { prototype } }: RedisPackage): void {
  if (Object.hasOwn(prototype, 'stream')) return
  Object.defineProperty(prototype, 'stream', {
    get(this: Connector) {
      return streams.get(this)
    },
    set(this: Connector, stream: Socket) {
      streams.set(this, stream)
      if (made.has(this.options.tls ?? {})) stream.on('error', () => stream.destroy())
    },
  })
}

/** Makes a client for a url, which is not connected yet. What follows the scheme is never repeated: it may hold a password. */
export function makeClient(redis: RedisPackage, url: string, options: ConnectOptions): RedisClient {
  const { Redis, Cluster } = redis
  if (!URL.canParse(url)) throw bad('is no url')
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(url)
  if (protocol !== 'redis:' && protocol !== 'rediss:') throw bad(`has the unknown scheme '${protocol}'`)
  const unknown = [...searchParams.keys()].filter((name) => !PARAMETERS.includes(name))
  if (unknown.length > 0) throw bad(`has the unknown parameter ${unknown.join(', ')}`)
  const db = Number(pathname.slice(1) || 0)
  if (!Number.isInteger(db) || db < 0) throw bad('names a database that is no number')
  const tls = protocol === 'rediss:' ? tlsOf(searchParams, options.path) : undefined
  if (tls) {
    made.add(tls)
    hearErrors(redis)
  }
  const settings: Settings = {
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
    ...searchParams.getAll('node').map((node) => placeOf(node, standard)),
  ]
  if (searchParams.get('cluster') === 'true') {
    if (db !== 0) throw bad('names a database, of which a cluster has only one')
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
