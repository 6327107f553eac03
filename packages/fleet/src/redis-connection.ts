import { createHash } from 'node:crypto'
import type { Clock, Random } from 'holdfast'
import { runOutsideContext } from 'holdfast/internal'
import { createClient, loadRedis, type RedisClient } from './redis-client.js'
import { formatRedisError, isServerRejection, WRITE_PROBE, writeProbeKey } from './redis-errors.js'
import { setUnrefTimer } from './unref-timer.js'

/** How long a command may take before Redis counts as lost. */
const COMMAND_TIMEOUT_MS = 500

/** The first and the longest wait before Redis is tried again. */
const MIN_RECONNECT_MS = 50
export const MAX_RECONNECT_MS = 2000

/** Redis that was there for so long is tried again quickly when it is lost. */
const STABLE_AFTER_MS = 10_000

/** After so many tries without an answer, the connections are made anew. */
const RECONNECT_AFTER = 3

/** A script, with the name it has in Redis. */
export interface RedisScript {
  readonly text: string
  readonly sha: string
}

export const createScript = (text: string): RedisScript => ({
  text,
  sha: createHash('sha1').update(text).digest('hex'),
})

export interface RedisConnectionOptions {
  clock: Clock
  random: Random
  /** Where news are published, by the scripts too. */
  channel: string
  /** Where a file of the url lies. */
  resolvePath(path: string): string
  /** Redis was lost, and why, or is back. */
  onChanged(up: boolean, reason: string | undefined): void
  /** Somebody published something. */
  onMessage(text: string): void
}

/**
 * Two connections to Redis: one that asks, one that listens. It is up while both answer, and what is told is taken: a Redis
 * that refuses to write is lost. A command on a wire that is down fails at once; nothing waits in a queue.
 */
export class RedisConnection {
  /** Whether Redis answers. */
  isUp = false
  /** How many commands were sent. */
  commandCount = 0
  /** Where news are published in this database. */
  readonly channel: string
  /** What Redis said when it last refused to serve; undefined since it serves. */
  rejection: string | undefined = undefined
  private readonly options: RedisConnectionOptions
  private readonly commands: RedisClient
  private readonly subscriber: RedisClient
  private reconnectTimer: unknown = undefined
  private attempts = 0
  private connectedAt = 0
  /** Where it is seen whether Redis writes again. */
  private writeProbe = writeProbeKey('holdfast:{nodes}')
  private isClosed = false
  /** Scripts that publish elsewhere than in the first database, by those they were made of. */
  private readonly scripts = new Map<RedisScript, RedisScript>()

  private constructor(
    clients: readonly [RedisClient, RedisClient],
    channel: string,
    options: RedisConnectionOptions,
  ) {
    ;[this.commands, this.subscriber] = clients
    this.channel = channel
    this.options = options
  }

  /** Connects, and goes on trying where Redis is not there. */
  static async open(url: string, options: RedisConnectionOptions): Promise<RedisConnection> {
    const redisPackage = await loadRedis()
    const { random, resolvePath, channel } = options
    const settings = { backoff: (times: number) => reconnectDelay(times, random), resolvePath }
    const client = () => createClient(redisPackage, url, settings)
    const clients = [client(), client()] as const
    // Whoever listens hears of all databases of a server, so each has a channel of its own.
    const db = Number(new URL(url).pathname.slice(1))
    const wire = new RedisConnection(clients, db === 0 ? channel : `${channel}:${db}`, options)
    wire.attachListeners()
    return wire
  }

  /** Sends a command. @throws where Redis is lost or answers with an error */
  async send(command: string, ...args: (string | number)[]): Promise<unknown> {
    if (!this.isUp) throw new Error('Redis is lost')
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

  /** Looks whether the connection that listens still does; one that does not makes the wire go down. */
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

  /** A script as it is sent to this database. */
  private scriptForDatabase(source: RedisScript): RedisScript {
    if (this.channel === this.options.channel) return source
    const localScript =
      this.scripts.get(source) ??
      createScript(source.text.replaceAll(`'${this.options.channel}'`, `'${this.channel}'`))
    this.scripts.set(source, localScript)
    return localScript
  }

  private attachListeners(): void {
    const { channel } = this
    const { onMessage } = this.options
    for (const client of [this.commands, this.subscriber]) {
      // But for a refusal, errors of a connection say nothing that its end does not say.
      client.on('error', (error: never) => this.recordRejection(error))
      client.on('close', () => this.markDown('the connection ended'))
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

  /** Sends a command outside the async context of the call that needs it: the loss of Redis is everybody's. */
  private sendCommand(client: RedisClient, command: string, args: (string | number)[]): Promise<unknown> {
    return runOutsideContext(() => this.askNow(client, command, args))
  }

  private async askNow(client: RedisClient, command: string, args: (string | number)[]): Promise<unknown> {
    this.commandCount++
    try {
      return await this.withTimeout(client.call(command, ...args))
    } catch (error) {
      const { name, message } = error as Error
      if (name !== 'ReplyError') this.markDown(message)
      else if (isServerRejection(command, message)) {
        if (command.startsWith('EVAL')) this.writeProbe = writeProbeKey(String(args[2]))
        this.markDown(formatRedisError(message))
      }
      throw error
    }
  }

  /** What Redis answers, if it does so in time. */
  private withTimeout(reply: Promise<unknown>): Promise<unknown> {
    const { clock } = this.options
    return new Promise((resolve, reject) => {
      const onTimeout = () => reject(new Error(`no answer in ${COMMAND_TIMEOUT_MS} ms`))
      // In a process that was busy for so long the answer may be there, unread: it is read before the verdict.
      const handle = setUnrefTimer(
        clock,
        () => setImmediate(() => setImmediate(onTimeout)),
        COMMAND_TIMEOUT_MS,
      )
      reply.then(resolve, reject).finally(() => clock.clearTimer(handle))
    })
  }

  private markDown(reason: string): void {
    if (this.isClosed) return
    const wasUp = this.isUp
    this.isUp = false
    if (wasUp) {
      // One that comes and goes is not tried ever so quickly.
      if (this.options.clock.now() - this.connectedAt > STABLE_AFTER_MS) this.attempts = 0
      this.options.onChanged(false, reason)
    }
    this.scheduleReconnect()
  }

  /** Remembers what Redis said, where it was Redis that said it. */
  private recordRejection(error: unknown): void {
    const { lastNodeError } = error as { lastNodeError?: unknown }
    const { name, message } = (lastNodeError ?? error) as Error
    if (name === 'ReplyError') this.rejection = formatRedisError(message)
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

  /** Goes up if both connections answer, and Redis writes. */
  private async reconnect(): Promise<void> {
    if (this.isClosed || this.isUp) return
    try {
      await this.withTimeout(Promise.all([this.commands.call('PING'), this.subscriber.call('PING')]))
      // Only a connection that listens may say PING and hear of the fleet.
      await this.withTimeout(this.subscriber.subscribe(this.channel))
      await this.withTimeout(this.commands.call('EVAL', WRITE_PROBE, 1, this.writeProbe))
    } catch (error) {
      this.recordRejection(error)
      if (this.attempts % RECONNECT_AFTER === RECONNECT_AFTER - 1)
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

/** Waits that grow, and that chance spreads, so that a fleet does not come back in one stroke. */
const reconnectDelay = (times: number, random: Random): number =>
  Math.min(MAX_RECONNECT_MS, MIN_RECONNECT_MS * 2 ** Math.min(times, 10)) * (0.5 + random() / 2)
