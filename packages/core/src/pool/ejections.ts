/**
 * Keeps the members that are set aside to a share of all. The openings that come when the share is full are spared: they
 * change no choice until one of the others is back, and then take effect in their order. Where fewer are left in all, some
 * that were set aside are spared.
 */
export class Ejections {
  private readonly out = new Set<number>()
  private readonly spared = new Set<number>()
  /** Whether there is a limit at all. */
  readonly limited: boolean
  private readonly share: number

  constructor(share: number | undefined) {
    this.limited = share !== undefined
    this.share = share ?? 1
  }

  /** Whether a slot's breaker is open but has no effect. */
  isSpared(slot: number): boolean {
    return this.spared.has(slot)
  }

  /** Whether a slot's breaker is open has changed, or how many there are in all. Gives the slots that go now, or come back. */
  update(slot: number, isOpen: boolean, all: number): number[] {
    const { out, spared, share } = this
    if (!isOpen) {
      out.delete(slot)
      spared.delete(slot)
    } else if (!out.has(slot)) spared.add(slot)
    const changed: number[] = []
    // Binary fractions must not cost a member: 0.29 of 100 are 29.
    const room = Math.floor(share * all + 1e-9)
    for (const next of spared) {
      if (out.size >= room) break
      spared.delete(next)
      out.add(next)
      changed.push(next)
    }
    // Those that were set aside first are the first to be tested again.
    for (const next of out) {
      if (out.size <= room) break
      out.delete(next)
      spared.add(next)
      changed.push(next)
    }
    return changed
  }
}
