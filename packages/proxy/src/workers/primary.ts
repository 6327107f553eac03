import { createServer, type Server, type Socket } from 'node:net'
import type { ProxyCounts } from '../server/context.js'
import { createGuardSelector } from '../server/guards.js'
import type { ProxyCall, ProxyGuard, ProxySettings } from '../server/options.js'
import { type ProxyStatus, withPool } from '../server/status-page.js'
import type { WorkerMessage } from './protocol.js'
import { WorkerProcess } from './worker-process.js'

/** How long after its start a worker that failed is replaced. The time doubles with each failure in a row. */
const RESTART_DELAY_MS = 1000
const MAX_RESTART_DELAY_MS = 30_000
/** A worker that ends later than this after its start did not fail in a row with the one before it. */
const STABLE_AFTER_MS = 10_000

/** How long after its start a worker is replaced, by the number of consecutive failures. */
const restartDelay = (failures: number): number =>
  failures === 0 ? 0 : Math.min(MAX_RESTART_DELAY_MS, RESTART_DELAY_MS * 2 ** (failures - 1))

/** The worker processes of one proxy. */
export interface Workers {
  /** The server that accepts connections. */
  readonly server: Server
  status(): ProxyStatus
  close(timeoutMs: number): Promise<void>
}

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
