import { describeFault } from './cluster/inject.js'
import type { FailingScenario } from './shrink.js'

/** How many lines of a trace are printed. */
const MAX_LINES = 80

/** Polls of the configuration, which all nodes make all the time. */
const isNoise = (line: string): boolean => line.endsWith(' layers.latest')

const seconds = (ms: number): string => `${(ms / 1000).toFixed(3).padStart(9)} s`

/**
 * The report of a seed or a stored scenario that fails: the violation, and the reduced scenario with the end of its trace. `path` is the
 * file that has it.
 */
export function formatFailure({ scenario, result }: FailingScenario, path: string, isStored = false): string {
  const { seed } = scenario
  const lines = result.lines.filter((line) => !isNoise(line))
  return [
    `seed ${seed} fails: ${result.violation?.message}`,
    '',
    `reduced to ${scenario.nodes} nodes, ${scenario.faults.length} faults and ${scenario.calls.length} calls`,
    ...scenario.faults.map((fault) => `${seconds(fault.at)}  fault      ${describeFault(fault)}`),
    ...scenario.calls
      .slice(0, MAX_LINES)
      .map(({ at, node, action, operation }) => `${seconds(at)}  n${node}         ${action} ${operation}`),
    '',
    `trace${lines.length > MAX_LINES ? `, the last ${MAX_LINES} of ${lines.length} lines` : ''}`,
    ...lines.slice(-MAX_LINES),
    '',
    ...(isStored ? [] : [`repeat it: npm run test:simulation -- --seed ${seed}`]),
    `repeat the reduced scenario: npm run test:simulation -- --scenario ${path}`,
  ].join('\n')
}
