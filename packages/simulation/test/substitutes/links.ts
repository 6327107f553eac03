import { fakeClock } from 'holdfast/testing'
import { ConnectionLostError, type Link } from '../../src/network/link.js'

/** A connection whose messages arrive at once, unless the test stops or breaks it. */
export class TestLink implements Link {
  isOpen = false
  private readonly network: TestNetwork
  private readonly pending = new Set<(error: Error) => void>()
  private resetListener = () => {}

  constructor(network: TestNetwork) {
    this.network = network
  }

  async open(): Promise<void> {
    if (this.network.isStopped) return new Promise(() => {})
    if (this.network.isRefusing) throw new ConnectionLostError()
    this.isOpen = true
  }

  request<T>(execute: () => T): Promise<T> {
    const { network } = this
    if (!this.isOpen) return Promise.reject(new ConnectionLostError())
    return new Promise<T>((resolve, reject) => {
      this.pending.add(reject)
      if (network.isStopped) return
      queueMicrotask(() => {
        try {
          const value = execute()
          if (network.lostReplies > 0) {
            network.lostReplies--
            this.reset()
          } else resolve(value)
        } catch (error) {
          reject(error as Error)
        } finally {
          this.pending.delete(reject)
        }
      })
    })
  }

  push(deliver: () => void): void {
    if (this.isOpen && !this.network.isStopped) queueMicrotask(deliver)
  }

  close(): void {
    this.isOpen = false
  }

  onReset(listener: () => void): void {
    this.resetListener = listener
  }

  reset(): void {
    if (!this.isOpen) return
    this.isOpen = false
    for (const reject of this.pending) reject(new ConnectionLostError())
    this.pending.clear()
    this.resetListener()
  }
}

/** All connections of a test. */
export class TestNetwork {
  readonly clock = fakeClock()
  /** Whether nothing arrives. */
  isStopped = false
  /** Whether the server accepts no connections. */
  isRefusing = false
  /** How many replies are lost with their connection, after the server has executed the request. */
  lostReplies = 0
  private readonly links: TestLink[] = []

  readonly connect = (): TestLink => {
    const link = new TestLink(this)
    this.links.push(link)
    return link
  }

  /** Breaks all connections. */
  reset(): void {
    for (const link of this.links) link.reset()
  }
}
