import type { Kit } from '../kit.js'

/** A disk with less than this left, in bytes, is nearly full: 256 MiB. */
const LOW = 256 * 2 ** 20

/** A disk that was nearly full is well again with this much more. */
const MARGIN = 1.1

/** Warns where the store's disk is nearly full, once until it is well again. */
export class StorageWatch {
  private readonly kit: Kit
  private readonly low: number
  private warned = false

  constructor(kit: Kit, low = LOW) {
    this.kit = kit
    this.low = low
  }

  /** Looks how much is left. Never fails: a store that cannot tell is not asked twice in anger. */
  async check(): Promise<void> {
    const free = await this.kit.store.freeSpace().catch(() => undefined)
    if (free === undefined) return
    if (free >= this.low * MARGIN) this.warned = false
    if (free >= this.low || this.warned) return
    this.warned = true
    const message = `holdfast: the disk of the store is nearly full: ${Math.floor(free / 2 ** 20)} MiB left. Make room, or dead letters and records can no longer be kept`
    this.kit.complain(message)
    this.kit.emit({
      eventType: 'storage_warning',
      component: 'dead_letters',
      context: { reason: 'disk_nearly_full', free_bytes: free, warn_below_bytes: this.low },
    })
  }
}
