import type { Scenario } from './scenario/scenario.js'
import { type Simulate, type SimulationOptions, type SimulationResult, simulate } from './simulate.js'

/** How many simulations a reduction may run. */
const MAX_RUNS = 120

/** A scenario that fails, with its result. */
export interface FailingScenario {
  readonly scenario: Scenario
  readonly result: SimulationResult
}

/** The options of a reduction. */
interface ShrinkOptions extends Pick<SimulationOptions, 'onEvent' | 'parts'> {
  readonly maxRuns?: number | undefined
  /** @defaultValue {@link simulate} */
  readonly simulateScenario?: Simulate | undefined
}

/**
 * Removes calls and faults from a failing scenario while the same invariant still fails. The result is small, not always minimal:
 * the number of simulations is limited.
 */
export async function shrink(
  failing: FailingScenario,
  { maxRuns = MAX_RUNS, simulateScenario = simulate, ...options }: ShrinkOptions = {},
): Promise<FailingScenario> {
  let best = failing
  let runs = 0
  const invariant = failing.result.violation?.invariant
  const attempt = async (scenario: Scenario): Promise<boolean> => {
    if (runs++ >= maxRuns) return false
    const result = await simulateScenario(scenario, options)
    if (result.violation?.invariant !== invariant) return false
    best = { scenario, result }
    return true
  }
  // Nothing after the failure matters.
  const { endedAt } = failing.result
  const isBefore = ({ at }: { at: number }) => at <= endedAt
  const { calls, faults } = failing.scenario
  await attempt({ ...failing.scenario, calls: calls.filter(isBefore), faults: faults.filter(isBefore) })
  for (const list of ['faults', 'calls', 'faults'] as const)
    await removeParts(best.scenario[list].length, (from, to) =>
      attempt({ ...best.scenario, [list]: best.scenario[list].toSpliced(from, to - from) }),
    )
  return { ...best, result: await simulateScenario(best.scenario, { ...options, record: true }) }
}

/** Removes ever smaller parts of a list: `remove` tries to remove the items from `from` to `to`, and returns whether it did. */
async function removeParts(
  length: number,
  remove: (from: number, to: number) => Promise<boolean>,
): Promise<void> {
  let remaining = length
  for (let size = remaining; size >= 1; size = Math.floor(size / 2))
    for (let from = 0; from < remaining; ) {
      const to = Math.min(remaining, from + size)
      if (await remove(from, to)) remaining -= to - from
      else from = to
    }
}
