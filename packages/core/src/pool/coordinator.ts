/** The way from a pool to the same pool elsewhere. What is told from there reaches it by `rest` and `rouse`. */
export interface PoolCoordinator {
  /** A member has asked here to be left alone for so many milliseconds, longer than it would have rested anyway. */
  onCooldownStarted(memberId: string, ms: number): void
  /** The rest of a member was ended here by hand. */
  onCooldownEnded(memberId: string): void
}
