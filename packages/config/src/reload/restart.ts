import { formatValue } from '../problems/format-value.js'
import type { ConfigProblem } from '../problems/problem.js'
import type { Config } from '../schema/schema.js'

/** The settings that are fixed when the process starts. */
export interface StartupSettings {
  /** The url of the open store. */
  readonly storeUrl: string
  /** The store url of another configuration. */
  storeOf(config: Config): string
  /** The configuration at the start. */
  readonly config: Config
}

/** Warnings about settings that take effect only after a restart. */
export function restartNeededProblems(
  { storeUrl, storeOf, config }: StartupSettings,
  next: Config,
): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const store = storeOf(next)
  if (store !== storeUrl)
    problems.push({
      path: 'store',
      code: 'needs_restart',
      expected: formatValue(storeUrl),
      got: formatValue(store),
    })
  for (const key of ['shared', 'node', 'server', 'proxy'] as const)
    if (JSON.stringify(next[key]) !== JSON.stringify(config[key]))
      problems.push({ path: key, code: 'needs_restart', expected: '', got: '' })
  return problems
}
