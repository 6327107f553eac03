import type { Scenario } from './scenario/scenario.js'
import { type Simulate, type SimulationOptions, type SimulationResult, simulate } from './simulate.js'

/** The options of the second simulation, which must be those of the first one. */
interface RepeatOptions extends Pick<SimulationOptions, 'onEvent' | 'parts'> {
  /** @defaultValue {@link simulate} */
  readonly simulateScenario?: Simulate | undefined
}

/**
 * Simulates a scenario a second time, and describes the first line of the trace that differs.
 * Returns undefined if both histories are equal.
 */
export async function describeDifference(
  first: SimulationResult,
  scenario: Scenario,
  { simulateScenario = simulate, ...options }: RepeatOptions = {},
): Promise<string | undefined> {
  const second = await simulateScenario(scenario, options)
  if (second.digest === first.digest && second.events === first.events) return undefined
  const { lines } = await simulateScenario(scenario, { ...options, record: true })
  const { lines: others } = await simulateScenario(scenario, { ...options, record: true })
  const length = Math.max(lines.length, others.length)
  const index = Array.from({ length }).findIndex((_, position) => lines[position] !== others[position])
  const difference =
    index === -1
      ? 'simulations that record their lines do not differ'
      : `line ${index + 1} is "${lines[index] ?? ''}", and then "${others[index] ?? ''}"`
  return `a second simulation has another history (${first.events} events, and then ${second.events}): ${difference}`
}
