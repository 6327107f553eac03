import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { ConnectionLostError, type Link } from './link.js'

/**
 * What happens to one request: the connection ends before or after the server executes it, the server replies with an error about
 * this request only, or it is slow. The error is one of Redis.
 */
export type RequestFault = 'not_executed' | 'lost_reply' | 'rejected' | 'slow'

/** The mean time of a packet. */
const MEAN_DELAY_MS = 3

/** The longest additional time of a slow request. Clients with a shorter timeout give up some of them. */
const MAX_SLOW_MS = 900

/** Packets of one connection arrive one after another. */
const PACKET_MS = 0.001

/** A connection to a substitute on which single requests fail. */
export class FaultyLink implements Link {
  isOpen = false
  private readonly scheduler: Scheduler
  private readonly choices: Choices
  /** Takes the fault of the request that is being sent. */
  private readonly takeFault: () => RequestFault | undefined
  /** Whether no connection reaches the server. */
  private readonly isOutage: () => boolean
  private readonly pending = new Set<(error: Error) => void>()
  private onLost: () => void = () => {}
  private arrivesAt = 0
  private repliesAt = 0

  constructor(
    scheduler: Scheduler,
    choices: Choices,
    takeFault: () => RequestFault | undefined,
    isOutage: () => boolean = () => false,
  ) {
    this.scheduler = scheduler
    this.choices = choices
    this.takeFault = takeFault
    this.isOutage = isOutage
  }

  open(): Promise<void> {
    return new Promise((resolve, reject) =>
      this.scheduler.schedule(2 * MEAN_DELAY_MS, () => {
        if (this.isOutage()) return reject(new ConnectionLostError())
        this.isOpen = true
        resolve()
      }),
    )
  }

  request<T>(execute: () => T): Promise<T> {
    const { scheduler, choices } = this
    const fault = this.takeFault()
    const slowMs = fault === 'slow' ? choices.between(0, MAX_SLOW_MS) : 0
    this.arrivesAt = Math.max(
      this.arrivesAt + PACKET_MS,
      scheduler.now + choices.delay(MEAN_DELAY_MS) + slowMs,
    )
    return new Promise((resolve, reject) => {
      this.pending.add(reject)
      scheduler.schedule(this.arrivesAt - scheduler.now, () => {
        // Some servers still execute what a closed connection has sent.
        if (!this.isOpen && choices.chance(0.5)) return
        if (fault === 'not_executed') return this.reset()
        const result =
          fault === 'rejected' ? ({ error: 'ERR the simulated server rejects this request' } as T) : execute()
        if (fault === 'lost_reply') return this.reset()
        this.repliesAt = Math.max(this.repliesAt + PACKET_MS, scheduler.now + choices.delay(MEAN_DELAY_MS))
        scheduler.schedule(this.repliesAt - scheduler.now, () => {
          this.pending.delete(reject)
          if (this.isOpen) resolve(result)
        })
      })
    })
  }

  push(deliver: () => void): void {
    this.scheduler.schedule(this.choices.delay(MEAN_DELAY_MS), () => {
      if (this.isOpen) deliver()
    })
  }

  close(): void {
    this.isOpen = false
  }

  onReset(listener: () => void): void {
    this.onLost = listener
  }

  /** The connection is lost. */
  reset(): void {
    if (!this.isOpen) return
    this.isOpen = false
    for (const reject of this.pending) reject(new ConnectionLostError())
    this.pending.clear()
    this.onLost()
  }
}
