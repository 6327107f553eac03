import { resolve } from 'node:path'
import { DEFAULT_POLICY_ID } from '@holdfast/records/constants'
import { parseStoreUrl } from '@holdfast/store'
import { breakerEntryOptions } from '../schema/breaker-entry.js'
import type { Config } from '../schema/schema.js'
import type { CallConfiguration, OperationConfig } from './call-configuration.js'
import { DEAD_LETTER_DEFAULTS, type DeadLetterOptions } from './dead-letter-options.js'
import type { ErrorLogOptions } from './error-log-options.js'
import { resolveOperation } from './operations.js'
import { OverriddenPolicies } from './overridden.js'
import type { ResolvedConfig } from './resolve-config.js'

/** Resolves a path of the config file. */
type ResolvePath = (path: string) => string

/** The part of a configuration that calls use. */
export function callConfiguration(resolved: ResolvedConfig): CallConfiguration {
  const { config } = resolved
  const overridden = new OverriddenPolicies(resolved)
  return {
    policiesOf: (operation) => overridden.forOperation(operation),
    ownBreaker: (policy) => overridden.ownBreaker(policy).options,
    policies: new Map([...resolved.policies].map(([id, { policy }]) => [id, policy])),
    operationConfig: (name): OperationConfig => {
      const operationPlan = resolveOperation(resolved, name)
      const { policyByKind, fallbackPolicyId, subsystem } = operationPlan
      return {
        ...operationPlan,
        isMapped: policyByKind.size > 0 || fallbackPolicyId !== DEFAULT_POLICY_ID,
        isSubsystemEnabled: subsystem === undefined || config.subsystems?.[subsystem]?.enabled !== false,
      }
    },
    breakers: new Map(
      Object.entries(config.circuitBreakers ?? {}).map(([name, entry]) => [
        name,
        { options: breakerEntryOptions(entry), persist: entry.persistState ?? false },
      ]),
    ),
    poolPolicy: (pool) => config.pools?.[pool]?.policy,
  }
}

/** The dead-letter options of a configuration. */
export function deadLetterOptions({ deadLetters = {} }: Config, resolvePath: ResolvePath): DeadLetterOptions {
  const { handlers, ...options } = deadLetters
  return {
    ...DEAD_LETTER_DEFAULTS,
    ...(options as Partial<DeadLetterOptions>),
    ...(handlers !== undefined && { handlersFile: resolvePath(handlers) }),
  }
}

/** The error log options of a configuration. */
export function errorLogOptions(
  { errorLog = {} }: Config,
  resolvePath: ResolvePath,
  storeUrl: string,
): ErrorLogOptions {
  const { dir, ...options } = errorLog
  if (dir === undefined) return options
  // A file store already writes the same records to `logs`, so a second copy is not needed.
  const store = parseStoreUrl(storeUrl)
  const isStoreDir =
    'scheme' in store &&
    store.scheme === 'files' &&
    resolvePath(dir) === resolve(resolvePath(store.location), 'logs')
  return isStoreDir ? options : { ...options, dir: resolvePath(dir) }
}
