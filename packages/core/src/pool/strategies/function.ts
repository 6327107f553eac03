import { report } from '../../report.js'
import type { Member } from '../member.js'
import type { Roster } from '../roster.js'
import { RoundRobin } from './round-robin.js'

/** Chooses a member for a call, given those that may be chosen, in order, and the call's context. */
export type Chooser<T = unknown> = (
  candidates: readonly Member<T>[],
  context: unknown,
) => Member<T> | undefined

/** What the user's function says; where it throws or names nobody, the first. */
export class ByFunction extends RoundRobin {
  private readonly roster: Roster
  private readonly chooser: Chooser

  constructor(roster: Roster, chooser: Chooser) {
    super()
    this.roster = roster
    this.chooser = chooser
  }

  override choose(tried: readonly number[], context?: unknown): number {
    const { roster, chooser } = this
    const slots = this.all(tried)
    if (slots.length === 0) return -1
    const candidates = slots.map((slot) => roster.member(slot))
    let place = -1
    try {
      place = candidates.indexOf(chooser(candidates, context) as Member)
      if (place < 0) throw new TypeError('a strategy function gives one of its candidates back')
    } catch (error) {
      report('the strategy of a pool', chooser, error)
    }
    return slots[Math.max(0, place)] as number
  }
}
