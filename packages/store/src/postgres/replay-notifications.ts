import type { Clock } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { PostgresDatabase } from './database.js'
import type { PostgresClient } from './driver.js'
import { listenForRequests } from './statements/connection.js'

/** The delay before a new attempt to listen. */
const RECONNECT_DELAY_MS = 5000

/**
 * Notifies of replay requests at once. It needs a permanent connection. Behind a pooler there are no notifications, and workers
 * poll the queue, as in stores without notifications.
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

  /** Calls the listener after each replay request, and after a reconnect, because a notification may have been missed. */
  subscribe(listener: () => void): () => void {
    const subscription = () => listener()
    this.listeners.add(subscription)
    this.listen()
    return () => {
      this.listeners.delete(subscription)
      if (this.listeners.size === 0) void this.disconnect()
    }
  }

  /** Accepts listeners again after {@link close}. */
  open(): void {
    this.isClosed = false
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
    // Without a listener an error would end the process. The `end` event follows it.
    client.on('error', () => {})
    client.on('notification', () => this.notifyListeners())
    try {
      await client.connect()
      await client.query(listenForRequests(this.database.address.schema))
    } catch (error) {
      // Not awaited, because a server that does not respond does not respond to this either.
      client.end().catch(() => {})
      throw error
    }
    if (this.listeners.size === 0) {
      await client.end().catch(() => {})
      // A listener may have been added meanwhile.
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
