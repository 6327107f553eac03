import { HEARTBEAT } from '../../../fleet/src/lua/scripts.js'
import { Violation } from '../engine/violation.js'
import type { SimulatedNode } from '../process/simulated-node.js'
import type { SimulatedRedis } from '../substitutes/index.js'

/** A command that fails has ended after this time, and the connection is back. */
const RECOVERED_WITHIN_MS = 6000

/** A node is connected again within this time, also if the commands of its first attempts fail. */
const CONNECTED_WITHIN_MS = 3 * RECOVERED_WITHIN_MS

/** How many heartbeats in sequence may fail. */
const MAX_FAILED = 3

/** The promises that a node sends heartbeats and restores its connection, whatever failed before. */
export class HeartbeatModel {
  private readonly executedAt = new Map<string, number>()
  private readonly downSince = new Map<string, number>()
  /** When an outage of Redis ended: what was missing before it is not counted. */
  private outageEnd = 0
  private readonly intervalMs: number
  private readonly now: () => number

  constructor(redis: SimulatedRedis, intervalMs: number, now: () => number) {
    this.intervalMs = intervalMs
    this.now = now
    const execute = redis.execute.bind(redis)
    redis.execute = (command, at, connection) => {
      const result = execute(command, at, connection)
      // The name, the script, the number of keys and two keys precede the id of the node.
      if (command[1] === HEARTBEAT.sha || command[1] === HEARTBEAT.text)
        this.executedAt.set(String(command[5]), now())
      return result
    }
  }

  /** The time since the last heartbeat of a node. */
  silentMs(node: string): number {
    return this.now() - Math.max(this.executedAt.get(node) ?? 0, this.outageEnd)
  }

  onOutageEnded(): void {
    this.outageEnd = this.now()
    this.downSince.clear()
  }

  check(nodes: readonly SimulatedNode[]): void {
    const now = this.now()
    for (const { name, runtime } of nodes) {
      if (runtime === undefined) continue
      const silentMs = this.silentMs(name)
      const limitMs = MAX_FAILED * this.intervalMs + RECOVERED_WITHIN_MS
      if (silentMs > limitMs)
        throw new Violation(
          'converges',
          `Redis has executed no heartbeat of ${name} for ${silentMs} ms, expected at most ${limitMs} ms`,
        )
      const downSince = this.downSince.get(name) ?? now
      if (runtime.fleet?.connected === true) this.downSince.delete(name)
      else this.downSince.set(name, downSince)
      if (runtime.fleet?.connected !== true && now - downSince > CONNECTED_WITHIN_MS)
        throw new Violation('converges', `${name} has not connected again for ${now - downSince} ms`)
    }
  }
}
