/**
 * Keeps the members that are set aside to a share of all. The openings that come when the share is full are spared: they
 * change no choice until one of the others is back, and then take effect in their order. Where fewer are left in all, some
 * that were set aside are spared.
 */
export class Ejections {
  private readonly ejected = new Set<number>()
  private readonly exempt = new Set<number>()
  /** Whether there is a limit at all. */
  readonly hasLimit: boolean
  private readonly maxFraction: number

  constructor(share: number | undefined) {
    this.hasLimit = share !== undefined
    this.maxFraction = share ?? 1
  }

  /** Whether a slot's breaker is open but has no effect. */
  isExempt(slot: number): boolean {
    return this.exempt.has(slot)
  }

  /** Whether a slot's breaker is open has changed, or how many there are in all. Gives the slots that go now, or come back. */
  update(slot: number, isOpen: boolean, all: number): number[] {
    const { ejected, exempt, maxFraction } = this
    if (!isOpen) {
      ejected.delete(slot)
      exempt.delete(slot)
    } else if (!ejected.has(slot)) exempt.add(slot)
    const changed: number[] = []
    // Binary fractions must not cost a member: 0.29 of 100 are 29.
    const maxEjected = Math.floor(maxFraction * all + 1e-9)
    for (const next of exempt) {
      if (ejected.size >= maxEjected) break
      exempt.delete(next)
      ejected.add(next)
      changed.push(next)
    }
    // Those that were set aside first are the first to be tested again.
    for (const next of ejected) {
      if (ejected.size <= maxEjected) break
      ejected.delete(next)
      exempt.add(next)
      changed.push(next)
    }
    return changed
  }
}
