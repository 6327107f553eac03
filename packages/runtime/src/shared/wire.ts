import { createHash } from 'node:crypto'
import type { Clock, Random } from 'holdfast'
import { runOutsideContext } from 'holdfast/internal'
import { loadRedis, makeClient, type RedisClient } from './redis.js'
import { refusesAll, TRIAL, trialKey, wordsOf } from './refusal.js'
import { timer } from './timer.js'

/** How long a command may take before Redis counts as lost. */
const PATIENCE = 500

/** The first and the longest wait before Redis is tried again. */
const FIRST = 50
export const LONGEST = 2000

/** Redis that was there for so long is tried again quickly when it is lost. */
const STEADY = 10_000

/** After so many tries without an answer, the connections are made anew. */
const STUBBORN = 3

/** A script, with the name it has in Redis. */
export interface Script {
  readonly text: string
  readonly sha: string
}

export const script = (text: string): Script => ({
  text,
  sha: createHash('sha1').update(text).digest('hex'),
})

export interface WireOptions {
  clock: Clock
  random: Random
  /** Where news are published, by the scripts too. */
  channel: string
  /** Where a file of the url lies. */
  path(path: string): string
  /** Redis was lost, and why, or is back. */
  changed(up: boolean, reason: string | undefined): void
  /** Somebody published something. */
  heard(text: string): void
}

/**
 * Two connections to Redis: one that asks, one that listens. It is up while both answer, and what is told is taken: a Redis
 * that refuses to write is lost. A command on a wire that is down fails at once; nothing waits in a queue.
 */
export class Wire {
  /** Whether Redis answers. */
  up = false
  /** How many commands were sent. */
  sent = 0
  /** Where news are published in this database. */
  readonly channel: string
  /** What Redis said when it last refused to serve; undefined since it serves. */
  refusal: string | undefined = undefined
  private readonly options: WireOptions
  private readonly asks: RedisClient
  private readonly listens: RedisClient
  private trying: unknown = undefined
  private tries = 0
  private upAt = 0
  /** Where it is seen whether Redis writes again. */
  private trial = trialKey('holdfast:{nodes}')
  private closed = false
  /** Scripts that publish elsewhere than in the first database, by those they were made of. */
  private readonly scripts = new Map<Script, Script>()

  private constructor(clients: readonly [RedisClient, RedisClient], channel: string, options: WireOptions) {
    ;[this.asks, this.listens] = clients
    this.channel = channel
    this.options = options
  }

  /** Connects, and goes on trying where Redis is not there. */
  static async open(url: string, options: WireOptions): Promise<Wire> {
    const redis = await loadRedis()
    const { random, path, channel } = options
    const settings = { backoff: (times: number) => backoff(times, random), path }
    const client = () => makeClient(redis, url, settings)
    const clients = [client(), client()] as const
    // Whoever listens hears of all databases of a server, so each has a channel of its own.
    const db = Number(new URL(url).pathname.slice(1))
    const wire = new Wire(clients, db === 0 ? channel : `${channel}:${db}`, options)
    wire.begin()
    return wire
  }

  /** Sends a command. @throws where Redis is lost or answers with an error */
  async send(command: string, ...args: (string | number)[]): Promise<unknown> {
    if (!this.up) throw new Error('Redis is lost')
    return this.ask(this.asks, command, args)
  }

  /** Runs a script. */
  async run(given: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const { text, sha } = this.own(given)
    try {
      return await this.send('EVALSHA', sha, keys.length, ...keys, ...args)
    } catch (error) {
      if (!String((error as Error).message).startsWith('NOSCRIPT')) throw error
      return this.send('EVAL', text, keys.length, ...keys, ...args)
    }
  }

  /** Looks whether the connection that listens still does; one that does not makes the wire go down. */
  async check(): Promise<void> {
    if (this.up) await this.ask(this.listens, 'subscribe', [this.channel]).catch(() => {})
  }

  close(): void {
    this.closed = true
    this.up = false
    this.options.clock.clearTimer(this.trying)
    this.asks.disconnect()
    this.listens.disconnect()
  }

  /** A script as it is sent to this database. */
  private own(given: Script): Script {
    if (this.channel === this.options.channel) return given
    const own =
      this.scripts.get(given) ??
      script(given.text.replaceAll(`'${this.options.channel}'`, `'${this.channel}'`))
    this.scripts.set(given, own)
    return own
  }

  private begin(): void {
    const { channel } = this
    const { heard } = this.options
    for (const client of [this.asks, this.listens]) {
      // But for a refusal, errors of a connection say nothing that its end does not say.
      client.on('error', (error: never) => this.refused(error))
      client.on('close', () => this.lose('the connection ended'))
      client.connect().catch((error) => this.refused(error))
    }
    this.asks.on('ready', () => void this.attempt())
    this.listens.on('ready', () => {
      this.listens.subscribe(channel).then(
        () => this.attempt(),
        (error) => this.refused(error),
      )
    })
    this.listens.on('message', (_: never, text: never) => heard(text))
    this.again()
  }

  /** Sends a command outside the async context of the call that needs it: the loss of Redis is everybody's. */
  private ask(client: RedisClient, command: string, args: (string | number)[]): Promise<unknown> {
    return runOutsideContext(() => this.askNow(client, command, args))
  }

  private async askNow(client: RedisClient, command: string, args: (string | number)[]): Promise<unknown> {
    this.sent++
    try {
      return await this.answered(client.call(command, ...args))
    } catch (error) {
      const { name, message } = error as Error
      if (name !== 'ReplyError') this.lose(message)
      else if (refusesAll(command, message)) {
        if (command.startsWith('EVAL')) this.trial = trialKey(String(args[2]))
        this.lose(wordsOf(message))
      }
      throw error
    }
  }

  /** What Redis answers, if it does so in time. */
  private answered(answer: Promise<unknown>): Promise<unknown> {
    const { clock } = this.options
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error(`no answer in ${PATIENCE} ms`))
      // In a process that was busy for so long the answer may be there, unread: it is read before the verdict.
      const handle = timer(clock, () => setImmediate(() => setImmediate(late)), PATIENCE)
      answer.then(resolve, reject).finally(() => clock.clearTimer(handle))
    })
  }

  private lose(reason: string): void {
    if (this.closed) return
    const was = this.up
    this.up = false
    if (was) {
      // One that comes and goes is not tried ever so quickly.
      if (this.options.clock.now() - this.upAt > STEADY) this.tries = 0
      this.options.changed(false, reason)
    }
    this.again()
  }

  /** Remembers what Redis said, where it was Redis that said it. */
  private refused(error: unknown): void {
    const { lastNodeError } = error as { lastNodeError?: unknown }
    const { name, message } = (lastNodeError ?? error) as Error
    if (name === 'ReplyError') this.refusal = wordsOf(message)
  }

  private again(): void {
    const { clock, random } = this.options
    if (this.closed || this.trying !== undefined) return
    this.trying = timer(
      clock,
      () => {
        this.trying = undefined
        void this.attempt()
      },
      backoff(this.tries++, random),
    )
  }

  /** Goes up if both connections answer, and Redis writes. */
  private async attempt(): Promise<void> {
    if (this.closed || this.up) return
    try {
      await this.answered(Promise.all([this.asks.call('PING'), this.listens.call('PING')]))
      // Only a connection that listens may say PING and hear of the fleet.
      await this.answered(this.listens.subscribe(this.channel))
      await this.answered(this.asks.call('EVAL', TRIAL, 1, this.trial))
    } catch (error) {
      this.refused(error)
      if (this.tries % STUBBORN === STUBBORN - 1)
        for (const client of [this.asks, this.listens]) if (client.status === 'ready') client.disconnect(true)
      this.again()
      return
    }
    if (this.up || this.closed) return
    this.up = true
    this.upAt = this.options.clock.now()
    this.refusal = undefined
    this.options.changed(true, undefined)
  }
}

/** Waits that grow, and that chance spreads, so that a fleet does not come back in one stroke. */
const backoff = (times: number, random: Random): number =>
  Math.min(LONGEST, FIRST * 2 ** Math.min(times, 10)) * (0.5 + random() / 2)
