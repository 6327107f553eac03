import { formatValue, type Problem } from '../problem.js'
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
): Problem[] {
  const problems: Problem[] = []
  const store = storeOf(next)
  if (store !== storeUrl)
    problems.push({
      path: 'store',
      message: `${formatValue(store)} takes effect after a restart; until then records stay in ${formatValue(storeUrl)}`,
    })
  for (const key of ['shared', 'node', 'server', 'proxy'] as const)
    if (JSON.stringify(next[key]) !== JSON.stringify(config[key]))
      problems.push({ path: key, message: 'the change takes effect after a restart' })
  return problems
}
