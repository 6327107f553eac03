import { type Attempt, stopRetrying } from 'holdfast'
import { type AttemptContext, systemClock } from 'holdfast/internal'
import type { AdapterCallOptions, CallGuard } from '../guard.js'
import { parsePushback } from './pushback.js'
import { CANCELLED, DEADLINE_EXCEEDED, GrpcStatusError, OK, toStatus } from './status.js'
import type { GrpcCall, GrpcListener, GrpcMetadata, GrpcStatus } from './types.js'

/** The parts of a successful response, which the caller gets together. */
interface UnaryReply {
  readonly headers: GrpcMetadata | undefined
  readonly message: unknown
  readonly status: GrpcStatus
}

/** The objects that all attempts of a call use. */
export interface GuardedCallParts {
  readonly guard: CallGuard
  /** Creates the call of one attempt. */
  readonly nextCall: () => GrpcCall
  readonly createMetadata: () => GrpcMetadata
  readonly callOptions: AdapterCallOptions
  /** When the call must have ended, in epoch milliseconds. */
  readonly deadline: number
}

/**
 * A unary call with all its attempts. The request is kept for further attempts, and the response is passed on when the call has
 * ended, so that the caller notices none of the failed attempts.
 */
export class UnaryCall implements GrpcCall {
  private readonly parts: GuardedCallParts
  private readonly cancellation = new AbortController()
  private metadata: GrpcMetadata | undefined
  private listener: GrpcListener | undefined
  private context: object = {}
  private message: unknown
  /** The call of the last attempt. */
  private current: GrpcCall | undefined
  private runningAttempts = 0

  constructor(parts: GuardedCallParts) {
    this.parts = parts
  }

  start(metadata: GrpcMetadata, listener: GrpcListener): void {
    this.metadata = metadata
    this.listener = listener
  }

  sendMessageWithContext(context: object, message: unknown): void {
    this.context = context
    this.message = message
  }

  sendMessage(message: unknown): void {
    this.message = message
  }

  /** The request is complete: the first attempt starts. */
  halfClose(): void {
    const { guard, callOptions, deadline } = this.parts
    const { signal } = this.cancellation
    const timer = deadline < Infinity && systemClock.setTimer(this.onDeadline, deadline - systemClock.wall())
    guard
      .run((attempt) => this.send(attempt), { ...callOptions, signal })
      .then(
        (reply) => this.deliver(reply),
        (error: unknown) => this.fail(error),
      )
      .finally(() => systemClock.clearTimer(timer))
  }

  /** Each attempt reads by itself. */
  startRead(): void {}

  cancelWithStatus(code: number, details: string): void {
    const { createMetadata } = this.parts
    this.cancellation.abort(new GrpcStatusError({ code, details, metadata: createMetadata() }))
  }

  getPeer(): string {
    return this.current?.getPeer() ?? 'unknown'
  }

  getAuthContext(): unknown {
    return this.current?.getAuthContext() ?? null
  }

  /** Ends the call where it waits for its next attempt. A running attempt has the same deadline and ends by itself. */
  private readonly onDeadline = (): void => {
    if (this.runningAttempts === 0) this.cancelWithStatus(DEADLINE_EXCEEDED, 'Deadline exceeded')
  }

  private send(attempt: Attempt): Promise<UnaryReply> {
    const { number, signal } = attempt
    return new Promise((resolve, reject) => {
      const call = this.parts.nextCall()
      const metadata = (this.metadata as GrpcMetadata).clone()
      if (number > 1) metadata.set('grpc-previous-rpc-attempts', `${number - 1}`)
      let headers: GrpcMetadata | undefined
      let message: unknown
      const cancel = (): void => call.cancelWithStatus(CANCELLED, 'the attempt was aborted')
      this.current = call
      this.runningAttempts++
      call.start(metadata, {
        onReceiveMetadata: (received) => {
          headers = received
        },
        onReceiveMessage: (received) => {
          message = received
        },
        onReceiveStatus: (status) => {
          signal.removeEventListener('abort', cancel)
          this.runningAttempts--
          if (status.code === OK) resolve({ headers, message, status })
          else reject(this.toFailure(status, attempt as AttemptContext))
        },
      })
      signal.addEventListener('abort', cancel)
      call.sendMessageWithContext(number === 1 ? this.context : {}, this.message)
      call.halfClose()
    })
  }

  /** The error of an attempt. It stops the retries where the server allows none, or where the deadline has passed. */
  private toFailure(status: GrpcStatus, attempt: AttemptContext): Error {
    const pushback = parsePushback(status.metadata)
    const isOver = pushback === 'stop' || systemClock.wall() >= this.parts.deadline
    if (isOver) return stopRetrying(new GrpcStatusError(status))
    attempt.shouldRestartBackoff = pushback !== undefined
    return new GrpcStatusError(status, pushback)
  }

  private deliver({ headers, message, status }: UnaryReply): void {
    if (headers !== undefined) this.listener?.onReceiveMetadata(headers)
    this.listener?.onReceiveMessage(message)
    this.listener?.onReceiveStatus(status)
  }

  private fail(error: unknown): void {
    this.listener?.onReceiveMessage(null)
    this.listener?.onReceiveStatus(toStatus(error, this.parts.createMetadata))
  }
}
