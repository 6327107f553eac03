/**
 * Sends the cooldowns of a pool to the same pool on other nodes. Those of other nodes arrive through `startCooldown` and
 * `endCooldown` of the pool.
 */
export interface PoolCoordinator {
  /** A member requested a cooldown of `ms` milliseconds on this node, which ends later than its current one. */
  onCooldownStarted(memberId: string, ms: number): void
  /** The cooldown of a member was ended on this node by `enable`. */
  onCooldownEnded(memberId: string): void
}
