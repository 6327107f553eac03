/**
 * The entries that are being replayed in this process. Leases are compared with the wall clock, so a lease can seem to have
 * expired after the clock was set, although its handler still runs. This process then does not replay the entry again.
 */
export class RunningReplays {
  /** For each entry the earliest end of its leases, epoch milliseconds. */
  private readonly leaseEnds = new Map<string, number>()
  private readonly endListeners = new Map<string, readonly (() => void)[]>()

  has(id: string): boolean {
    return this.leaseEnds.has(id)
  }

  /** Adds an entry, or another lease of it. */
  add(id: string, leaseEnd: Date): void {
    const known = this.leaseEnds.get(id) ?? Number.POSITIVE_INFINITY
    this.leaseEnds.set(id, Math.min(known, leaseEnd.getTime()))
  }

  /** Removes an entry whose result is recorded, and calls its listeners. */
  delete(id: string): void {
    this.leaseEnds.delete(id)
    const listeners = this.endListeners.get(id) ?? []
    this.endListeners.delete(id)
    for (const listener of listeners) listener()
  }

  /** Calls a listener when the result of an entry that is being replayed is recorded. */
  onEnd(id: string, listener: () => void): void {
    this.endListeners.set(id, [...(this.endListeners.get(id) ?? []), listener])
  }

  /** The entries that a store may regard as free at this time. */
  withExpiredLease(now: Date): string[] {
    const ids: string[] = []
    for (const [id, leaseEnd] of this.leaseEnds) if (leaseEnd <= now.getTime()) ids.push(id)
    return ids
  }
}
