import { systemClock } from 'holdfast/internal'
import { DEADLINE_EXCEEDED, GrpcStatusError, OK, toStatus } from './status.js'
import type { GrpcCall, GrpcListener, GrpcMetadata } from './types.js'
import type { GuardedCallParts } from './unary.js'

/**
 * A call with a stream of requests or responses. It has one attempt, because messages have been passed on when it fails; breaker
 * and bulkhead of the guard apply. Requests wait until the guard has admitted the call.
 */
export class StreamCall implements GrpcCall {
  private readonly parts: GuardedCallParts
  private readonly cancellation = new AbortController()
  /** The call below, once the guard has admitted it. */
  private current: GrpcCall | undefined
  private waiting: ((call: GrpcCall) => void)[] = []
  private isEnded = false

  constructor(parts: GuardedCallParts) {
    this.parts = parts
  }

  start(metadata: GrpcMetadata, listener: GrpcListener): void {
    const { guard, callOptions, createMetadata, deadline } = this.parts
    const timer = deadline < Infinity && systemClock.setTimer(this.onDeadline, deadline - systemClock.wall())
    let result: Promise<void> | undefined
    guard
      .run(
        () => {
          // A hedge waits for the same stream.
          result ??= this.open(metadata, listener)
          return result
        },
        { ...callOptions, retry: false, timeout: false, signal: this.cancellation.signal },
      )
      .catch((error: unknown) => {
        if (this.isEnded) return
        this.isEnded = true
        if (this.current === undefined) listener.onReceiveStatus(toStatus(error, createMetadata))
      })
      .finally(() => systemClock.clearTimer(timer))
  }

  sendMessageWithContext(context: object, message: unknown): void {
    this.whenOpen((call) => call.sendMessageWithContext(context, message))
  }

  sendMessage(message: unknown): void {
    this.whenOpen((call) => call.sendMessage(message))
  }

  halfClose(): void {
    this.whenOpen((call) => call.halfClose())
  }

  startRead(): void {
    this.whenOpen((call) => call.startRead())
  }

  cancelWithStatus(code: number, details: string): void {
    const { current, parts } = this
    // The call below reports the cancellation to the listener.
    if (current !== undefined) current.cancelWithStatus(code, details)
    else this.cancellation.abort(new GrpcStatusError({ code, details, metadata: parts.createMetadata() }))
  }

  getPeer(): string {
    return this.current?.getPeer() ?? 'unknown'
  }

  getAuthContext(): unknown {
    return this.current?.getAuthContext() ?? null
  }

  /** Ends the call where it waits for the guard. The call below has the same deadline and ends by itself. */
  private readonly onDeadline = (): void => {
    if (this.current === undefined) this.cancelWithStatus(DEADLINE_EXCEEDED, 'Deadline exceeded')
  }

  private open(metadata: GrpcMetadata, listener: GrpcListener): Promise<void> {
    return new Promise((resolve, reject) => {
      const call = this.parts.nextCall()
      this.current = call
      call.start(metadata, {
        onReceiveMetadata: (received) => listener.onReceiveMetadata(received),
        onReceiveMessage: (received) => listener.onReceiveMessage(received),
        onReceiveStatus: (status) => {
          this.isEnded = true
          if (status.code === OK) resolve()
          else reject(new GrpcStatusError(status))
          listener.onReceiveStatus(status)
        },
      })
      for (const operation of this.waiting.splice(0)) operation(call)
    })
  }

  private whenOpen(operation: (call: GrpcCall) => void): void {
    if (this.current === undefined) this.waiting.push(operation)
    else operation(this.current)
  }
}
