/**
 * The program of a worker process of the forward proxy, which `startProxy({ workers })` starts. Applications do not import it.
 *
 * @packageDocumentation
 */
import type { Socket } from 'node:net'
import { CredentialThrottle, systemClock } from 'holdfast/internal'
import { createHandlerContext, type ProxyHandlerContext } from '../server/context.js'
import { createHttpServer, shutdown } from '../server/http-server.js'
import type { ProxyStatus } from '../server/status-page.js'
import { resolveBySystem } from '../targets/target-policy.js'
import { Channel, type ChannelEnd } from './channel.js'
import { CONNECTION, type PrimaryMessage, type WorkerMessage, type WorkerSettings } from './protocol.js'
import { RemoteGuards } from './remote-guard.js'

/** How often a worker reports its counts if they have changed. */
const REPORT_EVERY_MS = 100

/** Limits wrong credentials over all workers: each one shares what it records with the others. */
class SharedThrottle {
  private readonly local = new CredentialThrottle(systemClock)
  private readonly channel: Channel<WorkerMessage>
  private readonly shared = new Set<string>()

  constructor(channel: Channel<WorkerMessage>) {
    this.channel = channel
  }

  recordSuccess(address: string, name: string): number {
    const wait = this.local.recordSuccess(address, name)
    const client = `${address} ${name}`
    if (wait === 0 && !this.shared.has(client)) {
      if (this.shared.size >= 10_000) this.shared.clear()
      this.shared.add(client)
      this.channel.send({ type: 'credentials', address, name, isValid: true })
    }
    return wait
  }

  recordFailure(address: string, name?: string): number {
    this.channel.send({ type: 'credentials', address, name, isValid: false })
    return this.local.recordFailure(address, name)
  }

  /** Applies what another worker recorded. */
  apply({ address, name, isValid }: PrimaryMessage & { type: 'credentials' }): void {
    if (!isValid) this.local.recordFailure(address, name)
    else if (name !== undefined) this.local.recordSuccess(address, name)
  }
}

/** Serves the connections that the primary sends. */
class Worker {
  private readonly channel = new Channel<WorkerMessage>(process as ChannelEnd)
  private readonly guards = new RemoteGuards(this.channel)
  private readonly throttle = new SharedThrottle(this.channel)
  private readonly statusRequests = new Map<number, (status: ProxyStatus) => void>()
  private statusId = 0
  private handlerContext: ProxyHandlerContext | undefined
  private server: ReturnType<typeof createHttpServer> | undefined
  private closed = 0
  private reported = ''

  handle(message: PrimaryMessage): void {
    if (message.type === 'start') this.start(message.settings)
    else if (message.type === 'close') void this.close(message.timeout)
    else if (message.type === 'credentials') this.throttle.apply(message)
    else if (message.type === 'status') {
      this.statusRequests.get(message.id)?.(message.status)
      this.statusRequests.delete(message.id)
    } else this.guards.handle(message)
  }

  /** Accepts a connection. */
  accept(socket: Socket): void {
    // The HTTP server of Node sets the same for its own sockets.
    socket.allowHalfOpen = true
    socket.setNoDelay(true)
    socket.once('close', () => this.disconnect())
    this.server?.emit('connection', socket)
    socket.resume()
  }

  /** Counts a connection that is closed. */
  disconnect(): void {
    this.closed++
    this.report()
  }

  private start(settings: WorkerSettings): void {
    const complete = { ...settings, policies: {}, clock: systemClock, resolve: resolveBySystem }
    this.handlerContext = createHandlerContext(complete, {
      guardFor: (call) => this.guards.create(call),
      throttle: this.throttle,
      readStatus: () => this.readStatus(),
    })
    this.server = createHttpServer(this.handlerContext)
    // The server never listens, but Node checks the timeouts of connections only after this event.
    this.server.emit('listening')
    this.channel.send({ type: 'ready' })
    this.reportRegularly()
  }

  private readStatus(): Promise<ProxyStatus> {
    this.report()
    const id = this.statusId++
    return new Promise((resolve) => {
      this.statusRequests.set(id, resolve)
      this.channel.send({ type: 'status', id })
    })
  }

  private reportRegularly(): void {
    this.report()
    systemClock.setTimer(() => this.reportRegularly(), REPORT_EVERY_MS)
  }

  private report(): void {
    if (this.handlerContext === undefined) return
    const { counts, tunnels } = this.handlerContext
    const now = { ...counts, closed: this.closed, openTunnels: tunnels.size }
    const text = JSON.stringify(now)
    if (text === this.reported) return
    this.reported = text
    this.channel.send({ type: 'counts', counts: now })
  }

  private async close(timeout: number): Promise<void> {
    if (this.handlerContext !== undefined && this.server !== undefined)
      await shutdown(this.handlerContext, this.server, timeout)
    this.report()
    setImmediate(() => setImmediate(() => process.exit(0)))
  }
}

const worker = new Worker()
process.on('message', (message, socket) => {
  if (message === CONNECTION) {
    // The client disconnected while its connection was sent to this worker.
    if (socket === undefined) worker.disconnect()
    else worker.accept(socket as Socket)
  } else for (const primaryMessage of message as unknown as PrimaryMessage[]) worker.handle(primaryMessage)
})
// A terminal signals every process of its group; workers end when the primary closes them.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('disconnect', () => process.exit(0))
