import type { Clock, Random } from 'holdfast'
import { REDACTED, runOutsideContext } from 'holdfast/internal'
import { CHANNEL, type RedisScript, WRITE_PROBE, withChannel } from './lua/scripts.js'
import { createClient, ioredisDriver, type RedisClient, type RedisDriver } from './redis-client.js'
import { formatRedisError, isServerRejection, writeProbeKey } from './redis-errors.js'
import { InvalidReplyError } from './reply-checker.js'
import { setUnrefTimer } from './unref-timer.js'

/** How long a command can take before the connection counts as lost. */
const COMMAND_TIMEOUT_MS = 500

/** The first and the longest delay before the next connection attempt. */
const MIN_RECONNECT_MS = 50
export const MAX_RECONNECT_MS = 2000

/** After a connection of this duration the reconnect delay starts again at its minimum. */
const STABLE_AFTER_MS = 10_000

/** After this many attempts without a reply, both connections are opened again. */
const RECONNECT_AFTER_ATTEMPTS = 3

/** The code at the beginning of an error of Redis. */
const ERROR_CODE_PATTERN = /^[A-Z]+(?= )/

export interface RedisConnectionOptions {
  /** @defaultValue ioredis */
  driver?: RedisDriver | undefined
  clock: Clock
  random: Random
  /** Resolves the path of a file that the url names. */
  resolvePath(path: string): string
  /** The connection was lost, with the reason, or is back. */
  onChanged(isUp: boolean, reason: string | undefined): void
  /** A message was published on the channel. */
  onMessage(text: string): void
}

/**
 * Two connections to Redis: one for commands, one for the subscription. It is up while both respond and Redis accepts writes.
 * A command fails at once while the connection is down; nothing waits in a queue.
 */
export class RedisConnection {
  /** Whether Redis is available. */
  isUp = false
  /** How many commands were sent. */
  commandCount = 0
  /** The channel of messages in this database. */
  readonly channel: string
  /** The last error with which Redis rejected the connection, or the problem of its last reply; undefined while it is up. */
  rejection: string | undefined = undefined
  private readonly options: RedisConnectionOptions
  private readonly commands: RedisClient
  private readonly subscriber: RedisClient
  private reconnectTimer: unknown = undefined
  private attempts = 0
  private connectedAt = 0
  /** The key by which a reconnect finds out whether Redis accepts writes. */
  private writeProbe = writeProbeKey('holdfast:{nodes}')
  private isClosed = false
  /** The password of the url. Redis can repeat it in an error. */
  private readonly password: string
  /** Scripts with the channel of this database, by the original script. */
  private readonly scripts = new Map<RedisScript, RedisScript>()

  private constructor(
    clients: readonly [RedisClient, RedisClient],
    { channel, password }: { channel: string; password: string },
    options: RedisConnectionOptions,
  ) {
    ;[this.commands, this.subscriber] = clients
    this.channel = channel
    this.password = password
    this.options = options
  }

  /** Creates both connections, which are retried until Redis is available. */
  static async open(url: string, options: RedisConnectionOptions): Promise<RedisConnection> {
    const { random, resolvePath, driver = ioredisDriver } = options
    const redisPackage = await driver.load()
    const settings = { backoff: (times: number) => reconnectDelay(times, random), resolvePath }
    const client = () => createClient(redisPackage, url, settings)
    const clients = [client(), client()] as const
    // Channels are shared by all databases of a server, so each database has its own.
    const { pathname, password } = new URL(url)
    const db = Number(pathname.slice(1))
    const channel = db === 0 ? CHANNEL : `${CHANNEL}:${db}`
    const connection = new RedisConnection(
      clients,
      { channel, password: decodeURIComponent(password) },
      options,
    )
    connection.attachListeners()
    return connection
  }

  /** Sends a command. @throws if Redis is not available or replies with an error */
  async send(command: string, ...args: (string | number)[]): Promise<unknown> {
    if (!this.isUp) throw new Error('Redis is not available')
    return this.sendCommand(this.commands, command, args)
  }

  /** Runs a script. */
  async run(
    source: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const { text, sha } = this.scriptForDatabase(source)
    try {
      return await this.send('EVALSHA', sha, keys.length, ...keys, ...args)
    } catch (error) {
      if (!String((error as Error).message).startsWith('NOSCRIPT')) throw error
      return this.send('EVAL', text, keys.length, ...keys, ...args)
    }
  }

  /** Checks that the subscription still responds. The connection goes down if it does not. */
  async check(): Promise<void> {
    if (this.isUp) await this.sendCommand(this.subscriber, 'subscribe', [this.channel]).catch(() => {})
  }

  close(): void {
    this.isClosed = true
    this.isUp = false
    this.options.clock.clearTimer(this.reconnectTimer)
    this.commands.disconnect()
    this.subscriber.disconnect()
  }

  /** The script as it is sent to this database. */
  private scriptForDatabase(source: RedisScript): RedisScript {
    if (this.channel === CHANNEL) return source
    const localScript = this.scripts.get(source) ?? withChannel(source, this.channel)
    this.scripts.set(source, localScript)
    return localScript
  }

  private attachListeners(): void {
    const { channel } = this
    const { onMessage } = this.options
    for (const client of [this.commands, this.subscriber]) {
      // Only an error that Redis has caused is of interest here: every other one is followed by the `close` event, too.
      client.on('error', (error: never) => this.recordRejection(error))
      client.on('close', () => this.markDown(this.rejection ?? 'the connection ended'))
      client.connect().catch((error) => this.recordRejection(error))
    }
    this.commands.on('ready', () => void this.reconnect())
    this.subscriber.on('ready', () => {
      this.subscriber.subscribe(channel).then(
        () => this.reconnect(),
        (error) => this.recordRejection(error),
      )
    })
    this.subscriber.on('message', (_: never, text: never) => onMessage(text))
    this.scheduleReconnect()
  }

  /** Sends a command outside the async context of its call, because listeners for the loss of Redis belong to no call. */
  private sendCommand(client: RedisClient, command: string, args: (string | number)[]): Promise<unknown> {
    return runOutsideContext(() => this.callClient(client, command, args))
  }

  private async callClient(
    client: RedisClient,
    command: string,
    args: (string | number)[],
  ): Promise<unknown> {
    this.commandCount++
    try {
      return await this.withTimeout(client.call(command, ...args))
    } catch (thrown) {
      const error = this.redactError(thrown as Error)
      const { name, message } = error
      if (name !== 'ReplyError') this.markDown(message)
      else if (isServerRejection(command, message)) {
        if (command.startsWith('EVAL')) this.writeProbe = writeProbeKey(String(args[2]))
        this.markDown(formatRedisError(message))
      }
      throw error
    }
  }

  /** Rejects if the reply does not arrive in time. */
  private withTimeout(reply: Promise<unknown>): Promise<unknown> {
    const { clock, driver = ioredisDriver } = this.options
    return new Promise((resolve, reject) => {
      const onTimeout = () => reject(new Error(`no reply within ${COMMAND_TIMEOUT_MS} ms`))
      // In a busy process the reply may have arrived without being read.
      const handle = setUnrefTimer(clock, () => driver.afterPendingReads(onTimeout), COMMAND_TIMEOUT_MS)
      reply.then(resolve, reject).finally(() => clock.clearTimer(handle))
    })
  }

  private markDown(reason: string): void {
    if (this.isClosed) return
    const wasUp = this.isUp
    this.isUp = false
    if (wasUp) {
      // After a short connection the delay continues to grow.
      if (this.options.clock.now() - this.connectedAt > STABLE_AFTER_MS) this.attempts = 0
      this.options.onChanged(false, reason)
    }
    this.scheduleReconnect()
  }

  /** Removes the password from an error, but not from its code, which decides how the error is handled. */
  private redactError(error: Error): Error {
    const { password } = this
    if (password === '' || !error.message.includes(password)) return error
    const { message, stack = '' } = error
    const code = ERROR_CODE_PATTERN.exec(message)?.[0] ?? ''
    const keptLength = code === password ? 0 : code.length
    return Object.assign(error, {
      message: message.slice(0, keptLength) + message.slice(keptLength).replaceAll(password, REDACTED),
      stack: stack.replaceAll(password, REDACTED),
    })
  }

  /** Stores the error if it is a reply of Redis, or about one. */
  private recordRejection(error: unknown): void {
    const { lastNodeError } = error as { lastNodeError?: unknown }
    const cause = this.redactError((lastNodeError ?? error) as Error)
    if (cause.name === 'ReplyError' || cause instanceof InvalidReplyError)
      this.rejection = formatRedisError(cause.message)
  }

  private scheduleReconnect(): void {
    const { clock, random } = this.options
    if (this.isClosed || this.reconnectTimer !== undefined) return
    this.reconnectTimer = setUnrefTimer(
      clock,
      () => {
        this.reconnectTimer = undefined
        void this.reconnect()
      },
      reconnectDelay(this.attempts++, random),
    )
  }

  /** Marks the connection as up if both connections respond and Redis accepts writes. */
  private async reconnect(): Promise<void> {
    if (this.isClosed || this.isUp) return
    try {
      await this.withTimeout(Promise.all([this.commands.call('PING'), this.subscriber.call('PING')]))
      // A connection that responds to PING may have lost its subscription.
      await this.withTimeout(this.subscriber.subscribe(this.channel))
      await this.withTimeout(this.commands.call('EVAL', WRITE_PROBE.text, 1, this.writeProbe))
    } catch (error) {
      this.recordRejection(error)
      if (this.attempts % RECONNECT_AFTER_ATTEMPTS === RECONNECT_AFTER_ATTEMPTS - 1)
        for (const client of [this.commands, this.subscriber])
          if (client.status === 'ready') client.disconnect(true)
      this.scheduleReconnect()
      return
    }
    if (this.isUp || this.isClosed) return
    this.isUp = true
    this.connectedAt = this.options.clock.now()
    this.rejection = undefined
    this.options.onChanged(true, undefined)
  }
}

/** A growing delay with a random part, so that the nodes of a fleet do not reconnect at the same time. */
const reconnectDelay = (times: number, random: Random): number =>
  Math.min(MAX_RECONNECT_MS, MIN_RECONNECT_MS * 2 ** Math.min(times, 10)) * (0.5 + random() / 2)
