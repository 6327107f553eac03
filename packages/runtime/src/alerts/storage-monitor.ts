import type { RuntimeContext } from '@holdfast/config'

/** A disk with less free space is nearly full: 256 MiB. */
const MIN_FREE_BYTES = 256 * 2 ** 20

/** The warning is reset when the free space exceeds the limit by this factor. */
const RECOVERY_FACTOR = 1.1

/** Warns when the store's disk is nearly full, once until there is enough space again. */
export class StorageMonitor {
  private readonly runtime: RuntimeContext
  private readonly minFreeBytes: number
  private hasWarned = false

  constructor(runtime: RuntimeContext, low = MIN_FREE_BYTES) {
    this.runtime = runtime
    this.minFreeBytes = low
  }

  /** Checks the free space. Never fails: a store that cannot report it is skipped. */
  async check(): Promise<void> {
    const free = await this.runtime.store.freeSpace().catch(() => undefined)
    if (free === undefined) return
    if (free >= this.minFreeBytes * RECOVERY_FACTOR) this.hasWarned = false
    if (free >= this.minFreeBytes || this.hasWarned) return
    this.hasWarned = true
    const message = `holdfast: the disk of the store is nearly full: ${Math.floor(free / 2 ** 20)} MiB left. Free some space, or dead letters and records can no longer be stored`
    this.runtime.warn(message)
    this.runtime.emit({
      eventType: 'storage_warning',
      component: 'dead_letters',
      context: { reason: 'disk_nearly_full', free_bytes: free, warn_below_bytes: this.minFreeBytes },
    })
  }
}
