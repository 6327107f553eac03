import type { Clock } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { PostgresDatabase } from './database.js'
import type { PostgresClient } from './driver.js'

/** Where it is said that somebody wants entries replayed. */
export const requestsChannel = (schema: string): string => `holdfast_${schema}_requests`

/** How long to wait before listening again, in milliseconds. */
const RECONNECT_DELAY_MS = 5000

/**
 * Tells of requests to replay the moment they are made. It needs a connection of its own that stays, which a pooler does not
 * give: nothing is heard then, and whoever waits looks at the queue from time to time, as without it.
 */
export class ReplayNotifications {
  private readonly database: PostgresDatabase
  private readonly clock: Clock
  private readonly listeners = new Set<() => void>()
  private client: PostgresClient | undefined
  private timer: unknown
  private connecting: Promise<void> | undefined
  private isClosed = false

  constructor(database: PostgresDatabase, clock: Clock = systemClock) {
    this.database = database
    this.clock = clock
  }

  /** Calls whenever somebody asked for a replay, and after a gap in listening, since it may have been said then. */
  subscribe(listener: () => void): () => void {
    const own = () => listener()
    this.listeners.add(own)
    this.listen()
    return () => {
      this.listeners.delete(own)
      if (this.listeners.size === 0) void this.disconnect()
    }
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.listeners.clear()
    await this.connecting
    await this.disconnect()
  }

  private listen(): void {
    if (this.isClosed || this.client !== undefined || this.listeners.size === 0) return
    this.connecting ??= this.connect()
      .catch(() => this.scheduleReconnect())
      .finally(() => {
        this.connecting = undefined
      })
  }

  private async connect(): Promise<void> {
    const client = await this.database.createClient()
    // Without a listener an error would end the process; the end of the connection follows it.
    client.on('error', () => {})
    client.on('notification', () => this.notifyListeners())
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
      this.scheduleReconnect()
      return
    }
    this.client = client
    client.on('end', () => {
      if (this.client !== client) return
      this.client = undefined
      this.scheduleReconnect()
    })
    this.notifyListeners()
  }

  private scheduleReconnect(): void {
    if (this.isClosed || this.listeners.size === 0) return
    this.clock.clearTimer(this.timer)
    this.timer = this.clock.setTimer(() => this.listen(), RECONNECT_DELAY_MS)
  }

  private notifyListeners(): void {
    for (const listener of this.listeners) listener()
  }

  private async disconnect(): Promise<void> {
    this.clock.clearTimer(this.timer)
    const { client } = this
    this.client = undefined
    await client?.end().catch(() => {})
  }
}
