import type { RetryPolicy } from '@holdfast/records'
import type { BreakerOptions } from 'holdfast'
import { toBreakerOptions } from 'holdfast/internal'
import { mappedOperations, policiesAt } from './override-scopes.js'
import { type OperationOverrides, type OverrideValue, overridesFor } from './overrides.js'
import type { ResolvedConfig } from './resolve-config.js'
import { ORIGIN_RANK, type ResolvedPolicy } from './resolve-policy.js'

/** The options of a policy's own breaker, and the overrides that set them, by option of the core. */
export interface OwnBreaker {
  readonly options: BreakerOptions
  readonly overrides: ReadonlyMap<string, OverrideValue>
}

/** The breaker options of the core by MicroProfile setting. */
const BREAKER_OPTION_BY_SETTING: { readonly [setting: string]: string } = {
  requestVolumeThreshold: 'minimumCalls',
  failureRatio: 'failureRate',
  delay: 'timeoutDuration',
  failOn: 'failureOn',
}

/** The policy fields that correspond to breaker settings. */
const FIELD_BY_SETTING: { readonly [setting: string]: 'circuitBreakerThreshold' | 'circuitBreakerTimeout' } =
  {
    failureThreshold: 'circuitBreakerThreshold',
    failureRate: 'circuitBreakerThreshold',
    windowType: 'circuitBreakerThreshold',
    timeoutDuration: 'circuitBreakerTimeout',
  }

/**
 * Applies the overrides of all operations that use a policy to its own breaker, the least specific first. All calls of the
 * policy share the breaker, so each of these operations can change it.
 */
export function createOwnBreaker(
  policy: RetryPolicy,
  origins: () => ResolvedPolicy['origins'],
  layers: readonly OperationOverrides[],
): OwnBreaker {
  const base: BreakerOptions = {
    windowType: 'consecutive',
    failureThreshold: policy.circuitBreakerThreshold,
    timeoutDuration: policy.circuitBreakerTimeout,
    successThreshold: 1,
  }
  const applied = new Map<string, OverrideValue>()
  const layersWithSettings: BreakerOptions[] = [base]
  for (const overrides of layers) {
    const settings: Record<string, unknown> = {}
    for (const [setting, from] of overrides) {
      const settingName = /^CircuitBreaker\/(?!enabled$)(.*)$/.exec(setting)?.[1]
      if (settingName === undefined) continue
      const option = BREAKER_OPTION_BY_SETTING[settingName] ?? settingName
      const fieldOrigin = origins()[FIELD_BY_SETTING[option] ?? '']
      if (fieldOrigin !== undefined && ORIGIN_RANK[fieldOrigin.origin] > ORIGIN_RANK[from.origin.origin])
        continue
      settings[settingName] = from.value
      applied.set(option, from)
    }
    if (Object.keys(settings).length > 0) layersWithSettings.push(settings)
  }
  if (layersWithSettings.length === 1) return { options: base, overrides: applied }
  const { windowType, ...options } = toBreakerOptions(layersWithSettings)
  const isRated = options.failureRate !== undefined || options.slowCallRate !== undefined
  return {
    options: { ...options, ...((windowType ?? !isRated) && { windowType: windowType ?? 'consecutive' }) },
    overrides: applied,
  }
}

/** The breaker overrides by policy, the least specific first; those of every policy under the empty name. */
export function breakerLayers(resolved: ResolvedConfig): Map<string, OperationOverrides[]> {
  const every = overridesFor(resolved, '')
  const layers = new Map<string, OperationOverrides[]>([['', [every]]])
  for (const scope of breakerScopes(resolved)) {
    const found = overridesFor(resolved, scope.replace('/', '.'))
    const own = new Map([...found].filter(([, from]) => from.scope === scope))
    if (own.size === 0) continue
    for (const id of policiesAt(resolved, scope)) layers.set(id, [...(layers.get(id) ?? [every]), own])
  }
  return layers
}

/** The scopes that may have breaker overrides, classes before methods. */
function breakerScopes({ config, policies, overrideVariables = {} }: ResolvedConfig): string[] {
  const scopes = new Set(
    Object.keys(config.overrides ?? {})
      .filter((key) => /\/CircuitBreaker\/[^/]*$/.test(key))
      .map((key) => key.split('/').slice(0, -2).join('/')),
  )
  // Operation names cannot be parsed from variable names, so all known names are tried.
  if (Object.keys(overrideVariables).some((name) => /_CIRCUITBREAKER_/.test(name))) {
    for (const id of policies.keys()) scopes.add(id)
    for (const operation of mappedOperations(config)) {
      scopes.add(operation.split('.')[0] ?? '')
      scopes.add(operation.replace('.', '/'))
    }
  }
  return [...scopes].toSorted((a, b) => a.split('/').length - b.split('/').length)
}
