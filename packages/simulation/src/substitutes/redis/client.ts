import type { Clock } from 'holdfast'
import type { RedisClient, RedisDriver } from '../../../../fleet/src/redis-client.js'
import type { Link } from '../../network/link.js'
import { RedisErrorReply } from './reply.js'
import type { SimulatedRedis } from './server.js'

/** How long the client waits before it reads again whether a server that is loading its data is ready. */
const LOADING_CHECK_MS = 1000

/** A simulated Redis with its clock and the connections of its subscribers. */
export interface SimulatedRedisHost {
  readonly redis: SimulatedRedis
  /** The time of the server, in milliseconds since 1970. */
  now(): number
  /** Delivers messages to a connection. */
  readonly subscribers: Map<string, (channel: string, text: string) => void>
}

export const createRedisHost = (redis: SimulatedRedis, now: () => number): SimulatedRedisHost => ({
  redis,
  now,
  subscribers: new Map(),
})

export interface SimulatedClientOptions {
  readonly host: SimulatedRedisHost
  readonly clock: Clock
  /** Creates a connection to the server that is not established yet. Called again after each loss. */
  connect(): Link
  /** Milliseconds before the next connection attempt. */
  retryDelay(times: number): number
  /** Milliseconds to wait for a connection. */
  readonly connectTimeout: number
}

type Listener = (...args: never[]) => void

let connectionCount = 0

/**
 * A client of a simulated Redis with the behavior of ioredis as the fleet configures it: no queue while the connection is down, no
 * repeated commands, a new connection attempt after each loss.
 */
class Redis implements RedisClient {
  status = 'wait'
  private readonly options: SimulatedClientOptions
  private readonly listeners = new Map<string, Listener[]>()
  private readonly pending = new Set<(error: Error) => void>()
  private link: Link | undefined
  /** The name of the current connection at the server. */
  private connection = ''
  private attempts = 0
  private isClosing = false
  private timer: unknown

  constructor(options: SimulatedClientOptions) {
    this.options = options
  }

  on(event: string, listener: Listener): this {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener])
    return this
  }

  async connect(): Promise<void> {
    if (['connecting', 'connect', 'ready'].includes(this.status))
      throw new Error('Redis is already connecting/connected')
    const { host, clock, connectTimeout } = this.options
    this.status = 'connecting'
    const link = this.options.connect()
    const connection = `redis-${++connectionCount}`
    this.link = link
    this.connection = connection
    link.onReset(() => this.onClosed(connection))
    const isCurrent = () => this.connection === connection
    let isTimedOut = false
    const timer = clock.setTimer(() => {
      if (!isCurrent() || this.status !== 'connecting') return
      isTimedOut = true
      this.emit('error', Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' }))
      this.onClosed(connection)
    }, connectTimeout)
    try {
      await link.open()
    } catch (error) {
      if (isCurrent() && !isTimedOut) {
        this.emit('error', error)
        this.onClosed(connection)
      }
      throw new Error('Connection is closed.')
    } finally {
      clock.clearTimer(timer)
    }
    if (!isCurrent() || isTimedOut) throw new Error('Connection is closed.')
    this.status = 'connect'
    // ioredis reads INFO until the server has loaded its data.
    while (await this.request(() => host.redis.faults.has('loading'))) {
      await new Promise<void>((resolve) => clock.setTimer(resolve, LOADING_CHECK_MS))
      if (!isCurrent()) throw new Error('Connection is closed.')
    }
    if (!isCurrent()) throw new Error('Connection is closed.')
    this.attempts = 0
    this.status = 'ready'
    this.emit('ready')
  }

  disconnect(reconnect = false): void {
    if (!reconnect) {
      this.isClosing = true
      this.options.clock.clearTimer(this.timer)
    }
    if (this.link !== undefined) this.onClosed(this.connection)
    else this.status = 'end'
  }

  async call(command: string, ...args: (string | number)[]): Promise<unknown> {
    if (this.status !== 'ready')
      throw new Error("Stream isn't writeable and enableOfflineQueue options is false")
    const { host } = this.options
    const { connection } = this
    const result = await this.request(() => {
      // The server ends the subscriptions of a connection that is closed.
      if (command === 'SUBSCRIBE' || command === 'subscribe') {
        if (this.connection !== connection) return { reply: null, error: undefined }
        this.registerSubscriber(connection)
      }
      const { reply, error, pushes } = host.redis.execute([command, ...args], host.now(), connection)
      for (const push of pushes) host.subscribers.get(push.connection)?.(push.channel, push.text)
      return { reply, error }
    })
    if (result.error !== undefined) throw new RedisErrorReply(result.error)
    return result.reply
  }

  subscribe(...channels: string[]): Promise<unknown> {
    return this.call('SUBSCRIBE', ...channels)
  }

  /** Sends a request, and rejects when the connection ends before the reply. */
  private request<T>(execute: () => T): Promise<T> {
    const { link } = this
    if (link === undefined) return Promise.reject(new Error('Connection is closed.'))
    return new Promise((resolve, reject) => {
      this.pending.add(reject)
      link.request(execute).then(
        (value) => {
          this.pending.delete(reject)
          resolve(value)
        },
        (error: Error) => {
          this.pending.delete(reject)
          reject(error)
        },
      )
    })
  }

  private registerSubscriber(connection: string): void {
    const { link } = this
    const { host } = this.options
    host.subscribers.set(connection, (channel, text) => {
      // The process that had the connection has died.
      if (link?.isOpen !== true) {
        host.subscribers.delete(connection)
        host.redis.disconnect(connection)
        return
      }
      link.push(() => {
        if (this.connection === connection) this.emit('message', channel, text)
      })
    })
  }

  private emit(event: string, ...args: unknown[]): void {
    for (const listener of this.listeners.get(event) ?? []) listener(...(args as never[]))
  }

  private onClosed(connection: string): void {
    if (this.connection !== connection) return
    const { host, clock, retryDelay } = this.options
    this.link?.close()
    this.link = undefined
    this.connection = ''
    host.subscribers.delete(connection)
    host.redis.disconnect(connection)
    this.status = 'close'
    for (const reject of this.pending) reject(new Error('Connection is closed.'))
    this.pending.clear()
    this.emit('close')
    if (this.isClosing) {
      this.status = 'end'
      this.emit('end')
      return
    }
    this.status = 'reconnecting'
    this.timer = clock.setTimer(() => void this.connect().catch(() => {}), retryDelay(++this.attempts))
  }
}

/** Creates a client that is not connected yet. */
export const createSimulatedRedisClient = (options: SimulatedClientOptions): RedisClient => new Redis(options)

/** The settings of a client that `createClient` of the fleet passes to ioredis, as far as they are used here. */
interface RedisSettings {
  connectTimeout?: number
  retryStrategy?(times: number): number
}

/** A driver in place of ioredis, whose clients connect to a simulated Redis. */
export function createSimulatedRedisDriver(
  options: Pick<SimulatedClientOptions, 'host' | 'clock' | 'connect'>,
): RedisDriver {
  // A function and not a class of its own, so that the clients of all processes have one class, which is faster.
  function createClient({ connectTimeout = 10_000, retryStrategy }: RedisSettings): Redis {
    return new Redis({ ...options, connectTimeout, retryDelay: (times) => retryStrategy?.(times) ?? 50 })
  }
  const Client = createClient as unknown as new (settings: object) => Redis
  return {
    load: async () => ({
      Redis: Client,
      Cluster: Client,
      AbstractConnector: { prototype: { options: {} } },
    }),
    // A reply is read when it arrives.
    afterPendingReads: (fn) => fn(),
  }
}
