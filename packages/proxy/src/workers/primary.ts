import { type ChildProcess, fork } from 'node:child_process'
import { createRequire } from 'node:module'
import { createServer, type Server, type Socket } from 'node:net'
import { serialize } from 'node:v8'
import { type Attempt, HoldfastError, type RunOptions } from 'holdfast'
import { urlWithCredentials } from '../connect/credentials.js'
import { upstreamOf } from '../members/member.js'
import type { ProxyCounts } from '../server/context.js'
import { createGuardSelector } from '../server/guards.js'
import type { ProxyCall, ProxyGuard, ProxySettings } from '../server/options.js'
import { type ProxyStatus, withPool } from '../server/status-page.js'
import { Channel, type ChannelEnd } from './channel.js'
import {
  CONNECTION,
  decodeError,
  encodeError,
  type PrimaryMessage,
  type WireMember,
  type WireOutcome,
  type WorkerCounts,
  type WorkerMessage,
  type WorkerSettings,
} from './protocol.js'

/** How long after its start a worker that failed is replaced. The time doubles with each failure in a row. */
const RESTART_DELAY_MS = 1000
const MAX_RESTART_DELAY_MS = 30_000
/** A worker that ends later than this after its start did not fail in a row with the one before it. */
const STABLE_AFTER_MS = 10_000
/** How long a worker can take to exit after the timeout of `close` before it is killed. */
const EXIT_GRACE_MS = 2000

/** How long after its start a worker is replaced, by the number of consecutive failures. */
const restartDelay = (failures: number): number =>
  failures === 0 ? 0 : Math.min(MAX_RESTART_DELAY_MS, RESTART_DELAY_MS * 2 ** (failures - 1))

/** The path of the program of a worker. */
const findProgram = (): string => createRequire(import.meta.url).resolve('@holdfast/proxy/worker')

/** The worker processes of one proxy. */
export interface Workers {
  /** The server that accepts connections. */
  readonly server: Server
  status(): ProxyStatus
  close(timeoutMs: number): Promise<void>
}

const NO_COUNTS: WorkerCounts = { requests: 0, tunnels: 0, refused: 0, closed: 0, openTunnels: 0 }

/**
 * Starts the workers of a proxy. They read requests and make attempts; this process accepts connections, distributes them,
 * and runs every call under its one guard, so that breakers, the pool, limits and records are those of one process.
 */
export async function startWorkers(settings: ProxySettings): Promise<Workers> {
  const primary = new Primary(settings)
  try {
    await primary.start()
  } catch (error) {
    await primary.close(0)
    throw error
  }
  return primary
}

class Primary implements Workers {
  readonly server: Server
  readonly guardFor: (call: ProxyCall) => ProxyGuard
  readonly settings: ProxySettings
  private readonly workers = new Set<WorkerProcess>()
  /** The counts of workers that have exited. */
  private past: ProxyCounts = { requests: 0, tunnels: 0, refused: 0 }
  /** Connections that arrived while no worker was ready. */
  private readonly waiting = new Set<Socket>()
  private isClosing = false
  /** Whether it was reported that workers fail to start. Reset when one is ready. */
  private hasWarned = false
  private readonly restarts = new Set<unknown>()

  constructor(settings: ProxySettings) {
    this.settings = settings
    this.guardFor = createGuardSelector(settings)
    this.server = createServer({ pauseOnConnect: true }, (socket) => this.accept(socket))
  }

  async start(): Promise<void> {
    const { server, settings } = this
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(settings.port, settings.host, () => {
        server.off('error', reject)
        resolve()
      })
    })
    await Promise.all(Array.from({ length: settings.workers }, () => this.add()))
  }

  readonly status = (): ProxyStatus => {
    const sum = { ...this.past, connections: 0, openTunnels: 0 }
    for (const { counts, connections } of this.workers) {
      sum.requests += counts.requests
      sum.tunnels += counts.tunnels
      sum.refused += counts.refused
      sum.openTunnels += counts.openTunnels
      sum.connections += connections
    }
    return withPool(sum, this.settings.pool)
  }

  async close(timeoutMs: number): Promise<void> {
    const { clock } = this.settings
    this.isClosing = true
    for (const timer of this.restarts) clock.clearTimer(timer)
    for (const socket of this.waiting) socket.destroy()
    // The workers close the connections that were sent to them.
    if (this.server.listening) this.server.close()
    await Promise.all([...this.workers].map((worker) => worker.close(timeoutMs)))
  }

  /** Sends the result of an authentication to the other workers. */
  share(from: WorkerProcess, message: WorkerMessage & { type: 'credentials' }): void {
    for (const worker of this.workers) if (worker !== from) worker.channel.send(message)
  }

  private openConnections(): number {
    let sum = this.waiting.size
    for (const { connections } of this.workers) sum += connections
    return sum
  }

  private accept(socket: Socket): void {
    socket.on('error', () => {})
    if (this.isClosing || this.openConnections() >= this.settings.maxConnections) {
      socket.destroy()
      return
    }
    // The worker with the fewest connections takes the next one.
    let least: WorkerProcess | undefined
    for (const worker of this.workers)
      if (worker.isReady && (least === undefined || worker.connections < least.connections)) least = worker
    if (least === undefined) this.hold(socket)
    else least.acceptSocket(socket)
  }

  /** Keeps a connection until a worker is ready, up to the timeout of a request head. */
  private hold(socket: Socket): void {
    this.waiting.add(socket)
    socket.once('close', () => this.waiting.delete(socket))
    socket.setTimeout(this.settings.headTimeout, () => socket.destroy())
  }

  /** Distributes the connections that arrived while no worker was ready. */
  private acceptWaiting(): void {
    for (const socket of this.waiting) {
      this.waiting.delete(socket)
      socket.setTimeout(0)
      this.accept(socket)
    }
  }

  /**
   * Starts a worker; `failures` is the number of consecutive failures of its predecessors. Rejects where it cannot be
   * started, unless it replaces another one: then the next start is scheduled.
   */
  private async add(failures = 0, isReplacement = false): Promise<void> {
    const startedAt = this.settings.clock.now()
    const replace = (): void => {
      const hasFailed = this.settings.clock.now() - startedAt < STABLE_AFTER_MS
      this.scheduleStart(startedAt, hasFailed ? failures + 1 : 0)
    }
    try {
      const worker = new WorkerProcess(this, (reason) => this.onExit(worker, reason, replace))
      this.workers.add(worker)
      await worker.ready
    } catch (cause) {
      const error = new Error(`the proxy worker failed to start: ${(cause as Error).message}`, { cause })
      if (!isReplacement) throw error
      if (!this.isClosing && !this.hasWarned)
        process.emitWarning(`${error.message}; retrying with increasing delays`)
      this.hasWarned = true
      replace()
      return
    }
    this.hasWarned = false
    this.acceptWaiting()
  }

  private onExit(worker: WorkerProcess, reason: string, replace: () => void): void {
    this.workers.delete(worker)
    const { requests, tunnels, refused } = worker.counts
    this.past = {
      requests: this.past.requests + requests,
      tunnels: this.past.tunnels + tunnels,
      refused: this.past.refused + refused,
    }
    // A worker that was not ready rejects the promise of its start, which is handled there.
    if (this.isClosing || !worker.isReady) return
    process.emitWarning(`proxy worker ${worker.pid} ${reason}; starting a replacement`)
    replace()
  }

  private scheduleStart(startedAt: number, failures: number): void {
    const { clock } = this.settings
    if (this.isClosing) return
    const wait = Math.max(0, startedAt + restartDelay(failures) - clock.now())
    const timer = clock.setTimer(() => {
      this.restarts.delete(timer)
      void this.add(failures, true)
    }, wait)
    this.restarts.add(timer)
  }
}

/** A worker process, as the primary sees it. */
class WorkerProcess {
  readonly channel: Channel<PrimaryMessage>
  readonly pid: number | undefined
  /** Resolves when the worker accepts connections; rejects where it exits before that. */
  readonly ready: Promise<void>
  isReady = false
  counts: WorkerCounts = NO_COUNTS
  /** How many connections were sent to it. */
  private sentConnections = 0
  private readonly child: ChildProcess
  private readonly primary: Primary
  /** Resolves with how the process ended. */
  private readonly exited: Promise<string>
  private readonly calls = new Map<number, RemoteCall>()
  private onReady = (): void => {}

  /** @throws where the system cannot start a process */
  constructor(primary: Primary, onExit: (reason: string) => void) {
    this.primary = primary
    this.child = fork(findProgram(), { execArgv: [] })
    this.pid = this.child.pid
    this.channel = new Channel(this.child as ChannelEnd)
    this.exited = new Promise((resolve) => {
      this.child.once('exit', (code, signal) =>
        resolve(signal === null ? `exited with code ${code}` : `was killed by ${signal}`),
      )
      // A process that cannot be started has no id and never exits. Other errors, such as of a message, do not end it.
      this.child.on('error', ({ message }) => this.pid === undefined && resolve(message))
    })
    this.ready = new Promise((resolve, reject) => {
      this.onReady = resolve
      void this.exited.then((reason) => reject(new Error(reason)))
    })
    // A failure to start is reported where it is awaited.
    this.ready.catch(() => {})
    this.child.on('message', (messages) => {
      for (const message of messages as unknown as WorkerMessage[]) this.handle(message)
    })
    void this.exited.then((reason) => {
      for (const call of this.calls.values()) call.cancel('the proxy worker exited')
      onExit(reason)
      this.isReady = false
    })
    const { pool: _, policies: __, guard: ___, resolve: ____, clock: _____, ...settings } = primary.settings
    this.channel.send({ type: 'start', settings: settings as WorkerSettings })
  }

  /** How many of its connections are open. */
  get connections(): number {
    return this.sentConnections - this.counts.closed
  }

  /** Sends a connection to the worker. */
  acceptSocket(socket: Socket): void {
    this.sentConnections++
    this.child.send(CONNECTION, socket, { keepOpen: false }, (error) => {
      if (error === null) return
      this.sentConnections--
      socket.destroy()
    })
  }

  async close(timeoutMs: number): Promise<void> {
    const { clock } = this.primary.settings
    this.channel.send({ type: 'close', timeout: timeoutMs })
    const timer = clock.setTimer(() => this.child.kill('SIGKILL'), timeoutMs + EXIT_GRACE_MS)
    await this.exited
    clock.clearTimer(timer)
  }

  private handle(message: WorkerMessage): void {
    const { calls, channel, primary } = this
    switch (message.type) {
      case 'ready':
        this.isReady = true
        this.onReady()
        break
      case 'run': {
        const call = new RemoteCall(message, channel)
        calls.set(message.id, call)
        void call.run(primary.guardFor).finally(() => calls.delete(message.id))
        break
      }
      case 'outcome':
        calls.get(message.id)?.settle(message.key, message.outcome)
        break
      case 'cancel':
        calls.get(message.id)?.cancel('the client disconnected')
        break
      case 'repeats':
        void this.answerRepeats(message.id, message.call)
        break
      case 'status':
        channel.send({ type: 'status', id: message.id, status: primary.status() })
        break
      case 'counts':
        this.counts = message.counts
        break
      case 'credentials':
        primary.share(this, message)
    }
  }

  /** Answers whether a non-idempotent request can be repeated. An invalid call is reported when it runs. */
  private async answerRepeats(id: number, call: ProxyCall): Promise<void> {
    const { guardFor, settings } = this.primary
    let value: boolean = settings.retryNonIdempotent
    try {
      value = (await guardFor(call).retryNonIdempotent?.()) ?? value
    } catch {
      value = false
    }
    this.channel.send({ type: 'repeats', id, value })
  }
}

const KEY = Symbol('the attempt of an outcome')

/** A call that runs under the guard of the primary, and whose attempts a worker makes. */
class RemoteCall {
  private readonly id: number
  private readonly call: ProxyCall
  /** Whether the worker reports outcomes after which it must not be repeated. */
  private readonly isOnce: boolean
  private readonly channel: Channel<PrimaryMessage>
  private readonly controller = new AbortController()
  private readonly attempts = new Map<number, { resolve(value: object): void; reject(error: Error): void }>()
  private lastKey = 0
  /** Whether the worker reported that the request must not be sent again. */
  private mustNotRepeat = false

  constructor({ id, call, isOnce }: WorkerMessage & { type: 'run' }, channel: Channel<PrimaryMessage>) {
    this.id = id
    this.call = call
    this.isOnce = isOnce
    this.channel = channel
  }

  async run(guardFor: (call: ProxyCall) => ProxyGuard): Promise<void> {
    const { id, call, channel } = this
    const options: RunOptions = {
      signal: this.controller.signal,
      context: call.context,
      ...(this.isOnce && { retry: { abortOn: [() => this.mustNotRepeat] } }),
    }
    try {
      const value = await guardFor(call).run((attempt) => this.attempt(attempt), options)
      channel.send({ type: 'end', id, key: outcomeKey(value) })
    } catch (error) {
      channel.send({ type: 'end', id, key: outcomeKey(error), error: encodeError(error) })
    }
  }

  settle(key: number, outcome: WireOutcome): void {
    const attempt = this.attempts.get(key)
    this.attempts.delete(key)
    this.mustNotRepeat = outcome.mustNotRepeat
    if (!outcome.ok) attempt?.reject(Object.assign(decodeError(outcome.error), { [KEY]: key }))
    else {
      const { status, headers } = outcome
      // A value without a status is not classified.
      attempt?.resolve(status === undefined ? { [KEY]: key } : { status, headers, [KEY]: key })
    }
  }

  cancel(reason: string): void {
    this.controller.abort(new HoldfastError('CANCELLED', reason))
  }

  private attempt(attempt: Attempt): Promise<object> {
    const { id, channel } = this
    const key = ++this.lastKey
    return new Promise((resolve, reject) => {
      this.attempts.set(key, { resolve, reject })
      attempt.signal.addEventListener('abort', () => {
        if (!this.attempts.delete(key)) return
        const { reason } = attempt.signal
        channel.send({ type: 'abort', id, key, reason: encodeError(reason) })
        reject(reason)
      })
      const member = attempt.member && wireMember(attempt.member.id, attempt.member.value)
      channel.send({ type: 'attempt', id, key, number: attempt.number, member })
    })
  }
}

const outcomeKey = (outcome: unknown): number | undefined => (Object(outcome) as { [KEY]?: number })[KEY]

function wireMember(id: string, value: unknown): WireMember {
  const upstream = upstreamOf(value)
  const { connectTimeout, tls } = upstream
  const hasTls = Object.keys(tls).length > 0
  return {
    id,
    url: urlWithCredentials(upstream),
    connectTimeout,
    tls: hasTls ? serialize(tls).toString('base64') : undefined,
  }
}
