import type { Random } from '../../clock.js'
import type { Averages } from '../results/averages.js'
import type { Results } from '../results/results.js'
import type { Roster } from '../roster.js'
import { Cheapest } from './cost.js'
import { ByFunction, type Chooser } from './function.js'
import { LeastLatency } from './least-latency.js'
import { LeastUsed } from './least-used.js'
import { ByChance } from './random.js'
import { Region } from './region.js'
import { RoundRobin } from './round-robin.js'
import { BestScore } from './score.js'
import { Sticky } from './sticky.js'
import type { Strategy } from './strategy.js'
import { Weighted } from './weighted.js'

/** What strategies choose by. */
export interface Facts {
  readonly random: Random
  readonly roster: Roster
  readonly averages: Averages | undefined
  readonly results: Results | undefined
}

const MAKERS = {
  round_robin: () => new RoundRobin(),
  random: ({ random }: Facts) => new ByChance(random),
  weighted: ({ random, roster }: Facts) => new Weighted(random, roster),
  least_used: ({ roster }: Facts) => new LeastUsed(roster),
  least_latency: ({ random, averages }: Facts) => new LeastLatency(random, averages as Averages),
  score: ({ random, roster, results }: Facts) => new BestScore(random, roster.ledger, results as Results),
  sticky: ({ random, roster }: Facts) => new Region(roster, (idOf) => new Sticky(random, idOf), true),
  region: ({ roster }: Facts) => new Region(roster, () => new RoundRobin(), false),
  cost: ({ roster }: Facts) => new Cheapest(roster),
} satisfies Record<string, (facts: Facts) => Strategy>

/** The built-in ways of choosing a member. */
export type StrategyName = keyof typeof MAKERS

export const STRATEGIES = Object.keys(MAKERS) as StrategyName[]

export const makeStrategy = (strategy: StrategyName | Chooser, facts: Facts): Strategy =>
  typeof strategy === 'function' ? new ByFunction(facts.roster, strategy) : MAKERS[strategy](facts)
