import { type Problem, show } from './problem.js'
import type { Config } from './schema/schema.js'

/** What a process settles when it begins. */
export interface Settled {
  /** Where its records live. */
  readonly storeUrl: string
  /** Where they would live by another configuration. */
  storeOf(config: Config): string
  /** The configuration it began with. */
  readonly config: Config
}

/** What a configuration says that takes effect only when the process begins again. */
export function waitingForRestart({ storeUrl, storeOf, config }: Settled, next: Config): Problem[] {
  const waiting: Problem[] = []
  const store = storeOf(next)
  if (store !== storeUrl)
    waiting.push({
      path: 'store',
      message: `got ${show(store)}, but records stay in ${show(storeUrl)} until the process begins again`,
    })
  for (const key of ['shared', 'node'] as const)
    if (JSON.stringify(next[key]) !== JSON.stringify(config[key]))
      waiting.push({ path: key, message: 'was changed, which takes effect when the process begins again' })
  return waiting
}
