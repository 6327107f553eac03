/**
 * Limits the ejected members, those with an open breaker, to a fraction of all. A member whose breaker opens when the limit
 * is reached is exempt: it stays selectable until another one recovers, and is then ejected in the order of the openings.
 * When the total shrinks, some ejected members become exempt.
 */
export class Ejections {
  private readonly ejected = new Set<number>()
  private readonly exempt = new Set<number>()
  /** Whether `maxEjected` is configured. */
  readonly hasLimit: boolean
  private readonly maxFraction: number

  constructor(maxFraction: number | undefined) {
    this.hasLimit = maxFraction !== undefined
    this.maxFraction = maxFraction ?? 1
  }

  /** Whether the breaker of a slot is open but ignored. */
  isExempt(slot: number): boolean {
    return this.exempt.has(slot)
  }

  /**
   * Applies a change of the breaker of `slot` or of the number of members. Returns the slots that became ejected or exempt
   * by it.
   */
  updateEjection(slot: number, isOpen: boolean, total: number): number[] {
    const { ejected, exempt, maxFraction } = this
    if (!isOpen) {
      ejected.delete(slot)
      exempt.delete(slot)
    } else if (!ejected.has(slot)) exempt.add(slot)
    const changed: number[] = []
    // The tolerance absorbs the rounding error of binary fractions: 0.29 of 100 must be 29.
    const maxEjected = Math.floor(maxFraction * total + 1e-9)
    for (const next of exempt) {
      if (ejected.size >= maxEjected) break
      exempt.delete(next)
      ejected.add(next)
      changed.push(next)
    }
    // The members that were ejected first become exempt first: their breakers are the next to allow a probe.
    for (const next of ejected) {
      if (ejected.size <= maxEjected) break
      ejected.delete(next)
      exempt.add(next)
      changed.push(next)
    }
    return changed
  }
}
