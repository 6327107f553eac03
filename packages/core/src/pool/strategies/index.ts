import type { Random } from '../../clock.js'
import type { SlotTable } from '../members/slot-table.js'
import type { LatencyAverages } from '../scores/latency-averages.js'
import type { ScoreWindow } from '../scores/score-window.js'
import { CostStrategy } from './cost.js'
import { type Chooser, FunctionStrategy } from './function.js'
import { LeastLatencyStrategy } from './least-latency.js'
import { LeastUsedStrategy } from './least-used.js'
import { RandomStrategy } from './random.js'
import { RegionStrategy } from './region.js'
import { RoundRobinStrategy } from './round-robin.js'
import { ScoreStrategy } from './score.js'
import { StickyStrategy } from './sticky.js'
import type { SelectionStrategy } from './strategy.js'
import { WeightedStrategy } from './weighted.js'

/** The data that strategies use for their choice. */
export interface StrategyContext {
  readonly random: Random
  readonly slotTable: SlotTable
  readonly latencyAverages: LatencyAverages | undefined
  readonly scores: ScoreWindow | undefined
}

const STRATEGY_FACTORIES = {
  round_robin: () => new RoundRobinStrategy(),
  random: ({ random }: StrategyContext) => new RandomStrategy(random),
  weighted: ({ random, slotTable }: StrategyContext) => new WeightedStrategy(random, slotTable),
  least_used: ({ slotTable }: StrategyContext) => new LeastUsedStrategy(slotTable),
  least_latency: ({ random, latencyAverages }: StrategyContext) =>
    new LeastLatencyStrategy(random, latencyAverages as LatencyAverages),
  score: ({ random, slotTable, scores }: StrategyContext) =>
    new ScoreStrategy(random, slotTable.counters, scores as ScoreWindow),
  sticky: ({ random, slotTable }: StrategyContext) =>
    new RegionStrategy(slotTable, (idOf) => new StickyStrategy(random, idOf), true),
  region: ({ slotTable }: StrategyContext) =>
    new RegionStrategy(slotTable, () => new RoundRobinStrategy(), false),
  cost: ({ slotTable }: StrategyContext) => new CostStrategy(slotTable),
} satisfies Record<string, (context: StrategyContext) => SelectionStrategy>

/**
 * The name of a built-in selection strategy: `round_robin`, `random`, `weighted`, `least_used`, `least_latency`, `score`,
 * `sticky`, `region` or `cost`.
 */
export type StrategyName = keyof typeof STRATEGY_FACTORIES

export const STRATEGY_NAMES = Object.keys(STRATEGY_FACTORIES) as [StrategyName, ...StrategyName[]]

export const createStrategy = (
  strategy: StrategyName | Chooser,
  context: StrategyContext,
): SelectionStrategy =>
  typeof strategy === 'function'
    ? new FunctionStrategy(context.slotTable, strategy)
    : STRATEGY_FACTORIES[strategy](context)
