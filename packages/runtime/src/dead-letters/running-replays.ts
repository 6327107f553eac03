/**
 * The entries that are being replayed in this process. Leases are compared with the wall clock, so a lease can seem to have
 * expired after the clock was set, although its handler still runs. This process then does not replay the entry again.
 */
export class RunningReplays {
  /** For each entry the earliest end of its leases, epoch milliseconds. */
  private readonly leaseEnds = new Map<string, number>()

  has(id: string): boolean {
    return this.leaseEnds.has(id)
  }

  /** Adds an entry, or another lease of it. */
  add(id: string, leaseEnd: Date): void {
    const known = this.leaseEnds.get(id) ?? Number.POSITIVE_INFINITY
    this.leaseEnds.set(id, Math.min(known, leaseEnd.getTime()))
  }

  delete(id: string): void {
    this.leaseEnds.delete(id)
  }

  /** The entries that a store may regard as free at this time. */
  withExpiredLease(now: Date): string[] {
    const ids: string[] = []
    for (const [id, leaseEnd] of this.leaseEnds) if (leaseEnd <= now.getTime()) ids.push(id)
    return ids
  }
}
