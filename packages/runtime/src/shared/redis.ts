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
  connectTimeout: number
  retryStrategy(times: number): number
  [more: string]: unknown
}

/** The parts of the ioredis package that are used. */
export interface RedisPackage {
  Redis: new (settings: object) => RedisClient
  Cluster: new (nodes: object[], settings: object) => RedisClient
}

export interface ConnectOptions {
  /** How long to wait before the next try to connect. */
  backoff(times: number): number
}

const FORMS =
  'redis://HOST:PORT/DB, rediss://…, ?cluster=true with more nodes as &node=HOST:PORT, or ?sentinel=NAME'

const bad = (what: string) => new HoldfastError('INVALID_OPTIONS', `shared ${what}; it takes ${FORMS}`)

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
  const url = new URL(`redis://${text}`)
  return { host: url.hostname, port: Number(url.port || port) }
}

/** Makes a client for a url, which is not connected yet. What follows the scheme is never repeated: it may hold a password. */
export function makeClient(
  { Redis, Cluster }: RedisPackage,
  url: string,
  options: ConnectOptions,
): RedisClient {
  if (!URL.canParse(url)) throw bad('is no url')
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(url)
  if (protocol !== 'redis:' && protocol !== 'rediss:') throw bad(`has the unknown scheme '${protocol}'`)
  const settings: Settings = {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2000,
    retryStrategy: options.backoff,
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  }
  const db = Number(pathname.slice(1) || 0)
  if (!Number.isInteger(db) || db < 0) throw bad('names a database that is no number')
  const sentinel = searchParams.get('sentinel')
  const others = (standard: number) => searchParams.getAll('node').map((node) => placeOf(node, standard))
  if (searchParams.get('cluster') === 'true')
    return new Cluster([{ host: hostname, port: Number(port || 6379) }, ...others(6379)], {
      lazyConnect: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: options.backoff,
      redisOptions: settings,
    })
  if (sentinel !== null)
    return new Redis({
      ...settings,
      db,
      name: sentinel,
      sentinels: [{ host: hostname, port: Number(port || 26379) }, ...others(26379)],
      sentinelRetryStrategy: options.backoff,
    })
  return new Redis({ ...settings, db, host: hostname || '127.0.0.1', port: Number(port || 6379) })
}
