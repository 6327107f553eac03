import type { Clock } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { Database } from './database.js'
import type { Client } from './driver.js'

/** Where it is said that somebody wants entries replayed. */
export const requestsChannel = (schema: string): string => `holdfast_${schema}_requests`

/** How long to wait before listening again, in milliseconds. */
const PAUSE = 5000

/**
 * Tells of requests to replay the moment they are made. It needs a connection of its own that stays, which a pooler does not
 * give: nothing is heard then, and whoever waits looks at the queue from time to time, as without it.
 */
export class Wakeups {
  private readonly database: Database
  private readonly clock: Clock
  private readonly listeners = new Set<() => void>()
  private client: Client | undefined
  private timer: unknown
  private connecting: Promise<void> | undefined
  private closed = false

  constructor(database: Database, clock: Clock = systemClock) {
    this.database = database
    this.clock = clock
  }

  /** Calls whenever somebody asked for a replay, and after a gap in listening, since it may have been said then. */
  on(listener: () => void): () => void {
    const own = () => listener()
    this.listeners.add(own)
    this.listen()
    return () => {
      this.listeners.delete(own)
      if (this.listeners.size === 0) void this.leave()
    }
  }

  async close(): Promise<void> {
    this.closed = true
    this.listeners.clear()
    await this.connecting
    await this.leave()
  }

  private listen(): void {
    if (this.closed || this.client !== undefined || this.listeners.size === 0) return
    this.connecting ??= this.connect()
      .catch(() => this.later())
      .finally(() => {
        this.connecting = undefined
      })
  }

  private async connect(): Promise<void> {
    const client = await this.database.client()
    // Without a listener an error would end the process; the end of the connection follows it.
    client.on('error', () => {})
    client.on('notification', () => this.tell())
    try {
      await client.connect()
      await client.query(`LISTEN "${requestsChannel(this.database.address.schema)}"`)
    } catch (error) {
      // Not waited for: a server that does not answer does not answer this either.
      client.end().catch(() => {})
      throw error
    }
    if (this.listeners.size === 0) {
      await client.end().catch(() => {})
      // Somebody may listen again by now.
      this.later()
      return
    }
    this.client = client
    client.on('end', () => {
      if (this.client !== client) return
      this.client = undefined
      this.later()
    })
    this.tell()
  }

  private later(): void {
    if (this.closed || this.listeners.size === 0) return
    this.clock.clearTimer(this.timer)
    this.timer = this.clock.setTimer(() => this.listen(), PAUSE)
  }

  private tell(): void {
    for (const listener of this.listeners) listener()
  }

  private async leave(): Promise<void> {
    this.clock.clearTimer(this.timer)
    const { client } = this
    this.client = undefined
    await client?.end().catch(() => {})
  }
}
