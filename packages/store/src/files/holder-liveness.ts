import { statSync } from 'node:fs'
import { systemClock } from 'holdfast/internal'
import { readFile } from './lock-files.js'
import { livenessOf } from './process-identity.js'

/** How often the holder of a lock is checked while another process waits for it. */
const LIVENESS_INTERVAL_MS = 50

/** If the holder cannot be checked, its lock can be taken over after this time without a heartbeat. */
export const HEARTBEAT_MS = 2000
export const HEARTBEAT_TIMEOUT_MS = 10_000

/** The last observed holder. */
interface ObservedHolder {
  readonly generation: number
  /** When it is checked again. */
  next: number
  isDead: boolean
  heartbeat: number
  heartbeatSeenAt: number
}

/** Checks whether the holder of a lock has died. */
export class HolderLiveness {
  private observed: ObservedHolder | undefined = undefined

  /** Whether the holder of a number, whose claim has this path, has died, as far as this process can find out. */
  isDead(generation: number, path: string): boolean {
    const now = systemClock.now()
    let { observed } = this
    if (observed?.generation !== generation)
      observed = this.observed = {
        generation,
        next: now,
        isDead: false,
        heartbeat: Number.NaN,
        heartbeatSeenAt: now,
      }
    if (observed.isDead || now < observed.next) return observed.isDead
    observed.next = now + LIVENESS_INTERVAL_MS
    const owner = readFile(path)
    // The claim was just replaced by that of another process.
    if (owner === undefined) return false
    const liveness = livenessOf(owner)
    observed.isDead =
      liveness === 'dead' || (liveness === 'unknown' && !this.hasHeartbeat(path, observed, now))
    return observed.isDead
  }

  private hasHeartbeat(path: string, observed: ObservedHolder, now: number): boolean {
    const heartbeat = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN
    if (heartbeat !== observed.heartbeat) {
      observed.heartbeat = heartbeat
      observed.heartbeatSeenAt = now
    }
    return now - observed.heartbeatSeenAt < HEARTBEAT_TIMEOUT_MS
  }
}
