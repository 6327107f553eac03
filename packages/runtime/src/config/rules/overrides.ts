import { environmentOverrides, overrideProblem } from '../overrides.js'
import type { Facts, Tell } from './facts.js'

/** Checks the settings of decorated methods, those that the environment gives included: a problem of these has the variable for its path. */
export function checkOverrides({ config, env, shown }: Facts, problem: Tell): void {
  const overrides = config.overrides ?? {}
  for (const [key, value] of Object.entries(overrides)) {
    const message = overrideProblem(key, value, () => shown(['overrides', key]))
    if (message !== undefined) problem(['overrides', key], message)
  }
  for (const [key, { variable, value }] of environmentOverrides(env, Object.keys(overrides))) {
    const message = overrideProblem(key, value, () => 'a value that it does not take')
    if (message !== undefined) problem([variable], message)
  }
}
