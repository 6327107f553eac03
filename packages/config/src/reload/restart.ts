import { formatValue, type Problem } from '../problem.js'
import type { Config } from '../schema/schema.js'

/** What a process settles when it begins. */
export interface StartupSettings {
  /** Where its records live. */
  readonly storeUrl: string
  /** Where they would live by another configuration. */
  storeOf(config: Config): string
  /** The configuration it began with. */
  readonly config: Config
}

/** What a configuration says that takes effect only when the process begins again. */
export function restartNeededProblems(
  { storeUrl, storeOf, config }: StartupSettings,
  next: Config,
): Problem[] {
  const problems: Problem[] = []
  const store = storeOf(next)
  if (store !== storeUrl)
    problems.push({
      path: 'store',
      message: `got ${formatValue(store)}, but records stay in ${formatValue(storeUrl)} until the process begins again`,
    })
  for (const key of ['shared', 'node'] as const)
    if (JSON.stringify(next[key]) !== JSON.stringify(config[key]))
      problems.push({ path: key, message: 'was changed, which takes effect when the process begins again' })
  return problems
}
