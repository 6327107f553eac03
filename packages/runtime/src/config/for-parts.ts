import { resolve } from 'node:path'
import type { OperationRules, Ruling } from '../calls/ruling.js'
import { DEAD_LETTER_DEFAULTS, type DeadLetterOptions } from '../dead-letters/options.js'
import type { ErrorLogOptions } from '../error-log/files.js'
import { breakerOptions } from '../pools/pools.js'
import { resolveOperation } from './operations.js'
import { OverriddenPolicies } from './overridden.js'
import { DEFAULT_POLICY } from './ready.js'
import type { ResolvedConfig } from './resolved.js'
import type { Config } from './schema/schema.js'

/** Where a path of the file leads. */
type Path = (path: string) => string

/** A configuration as far as calls are concerned. */
export function rulingOf(resolved: ResolvedConfig): Ruling {
  const { config } = resolved
  const overridden = new OverriddenPolicies(resolved)
  return {
    policiesOf: (operation) => overridden.forOperation(operation),
    ownBreaker: (policy) => overridden.ownBreaker(policy).options,
    policies: new Map([...resolved.policies].map(([id, { policy }]) => [id, policy])),
    operation: (name): OperationRules => {
      const plan = resolveOperation(resolved, name)
      const { kinds, fallbackPolicyId, subsystem } = plan
      return {
        ...plan,
        mapped: kinds.size > 0 || fallbackPolicyId !== DEFAULT_POLICY,
        switchedOn: subsystem === undefined || config.subsystems?.[subsystem]?.enabled !== false,
      }
    },
    breakers: new Map(
      Object.entries(config.circuitBreakers ?? {}).map(([name, entry]) => [
        name,
        { options: breakerOptions(entry), persist: entry.persistState ?? false },
      ]),
    ),
    poolPolicy: (pool) => config.pools?.[pool]?.policy,
  }
}

/** A configuration as far as dead letters are concerned. */
export function deadLettersOf({ deadLetters = {} }: Config, path: Path): DeadLetterOptions {
  const { handlers, ...said } = deadLetters
  return {
    ...DEAD_LETTER_DEFAULTS,
    ...(said as Partial<DeadLetterOptions>),
    ...(handlers !== undefined && { handlersFile: path(handlers) }),
  }
}

/** A configuration as far as the error log is concerned. */
export function errorLogOf({ errorLog = {} }: Config, path: Path, storeUrl: string): ErrorLogOptions {
  const { dir, ...said } = errorLog
  if (dir === undefined) return said
  // A store of files keeps the same records in the same form, in `logs`: once is enough.
  const own = /^files:(.*)$/s.exec(storeUrl)?.[1]
  const kept = own !== undefined && path(dir) === resolve(path(own), 'logs')
  return kept ? said : { ...said, dir: path(dir) }
}
