import { type ChildProcess, fork } from 'node:child_process'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type { ProxyCall, ProxyGuard, ProxySettings } from '../server/options.js'
import type { ProxyStatus } from '../server/status-page.js'
import { Channel, type ChannelEnd } from './channel.js'
import {
  CONNECTION,
  type PrimaryMessage,
  type WorkerCounts,
  type WorkerMessage,
  type WorkerSettings,
} from './protocol.js'
import { RemoteCall } from './remote-call.js'

/** How long a worker can take to exit after the timeout of `close` before it is killed. */
const EXIT_GRACE_MS = 2000

const NO_COUNTS: WorkerCounts = { requests: 0, tunnels: 0, refused: 0, closed: 0, openTunnels: 0 }

/** The path of the program of a worker. */
const findProgram = (): string => createRequire(import.meta.url).resolve('@holdfast/proxy/worker')

/** The parts of the primary that a worker process uses. */
interface WorkerHost {
  readonly settings: ProxySettings
  guardFor(call: ProxyCall): ProxyGuard
  status(): ProxyStatus
  /** Sends the result of an authentication to the other workers. */
  share(from: WorkerProcess, message: WorkerMessage & { type: 'credentials' }): void
}

/** A worker process, as the primary sees it. */
export class WorkerProcess {
  readonly channel: Channel<PrimaryMessage>
  readonly pid: number | undefined
  /** Resolves when the worker accepts connections; rejects where it exits before that. */
  readonly ready: Promise<void>
  isReady = false
  counts: WorkerCounts = NO_COUNTS
  /** How many connections were sent to it. */
  private sentConnections = 0
  private readonly child: ChildProcess
  private readonly primary: WorkerHost
  /** Resolves with how the process ended. */
  private readonly exited: Promise<string>
  private readonly calls = new Map<number, RemoteCall>()
  private onReady = (): void => {}

  /** @throws where the system cannot start a process */
  constructor(primary: WorkerHost, onExit: (reason: string) => void) {
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
        calls.get(message.id)?.settle(message.attemptKey, message.outcome)
        break
      case 'cancel':
        calls.get(message.id)?.cancel('the client disconnected')
        break
      case 'can_repeat':
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
    let canRepeat: boolean = settings.retryNonIdempotent
    try {
      canRepeat = (await guardFor(call).retryNonIdempotent?.()) ?? canRepeat
    } catch {
      canRepeat = false
    }
    this.channel.send({ type: 'can_repeat', id, value: canRepeat })
  }
}
