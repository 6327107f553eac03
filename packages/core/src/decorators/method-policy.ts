import { CircuitBreaker } from '../breaker/breaker.js'
import type { BreakerOptions } from '../breaker/options.js'
import { type Guard, guard } from '../guard/guard.js'
import type { GuardOptions } from '../guard/options.js'
import { type DecoratorConfig, overridesFor } from './configure.js'
import { createFallback, type FallbackHandler } from './fallback-handler.js'
import { layersFor } from './overrides.js'
import { toBreakerOptions } from './settings/circuit-breaker.js'
import { toRetryOptions } from './settings/retry.js'
import { applyDefaults, type DecoratorName, type DecoratorSettings } from './settings/table.js'

/** The strategies of a method under one configuration. */
export interface MethodPolicy {
  readonly config: DecoratorConfig
  /** Retries, breaker and deadlines. */
  readonly guard: Guard
  /** The bulkhead, inside of the guard: each attempt acquires a slot. */
  readonly bulkhead: Guard | undefined
  readonly fallback: FallbackHandler | undefined
  /** Unsubscribes the runtime from the events of the guard. */
  readonly unsubscribe: (() => void) | undefined
  /** The state that the next policy of the method can reuse, also while the decorator is disabled. */
  readonly breaker: ReusableState<BreakerOptions, CircuitBreaker> | undefined
  readonly bulkheadState: ReusableState<object, Guard> | undefined
}

/** An object with state, and the options it was created with. */
interface ReusableState<O, T> {
  readonly options: O
  readonly clock: DecoratorConfig['clock']
  readonly value: T
}

/**
 * Creates the policy of a method from its decorators and the configuration. State survives a change of the configuration: a
 * breaker or bulkhead with the same options is reused, and a breaker with other options starts with the previous state.
 */
export function createMethodPolicy(
  config: DecoratorConfig,
  owner: string | undefined,
  method: string,
  declared: Partial<DecoratorSettings>,
  previous: MethodPolicy | undefined,
): MethodPolicy {
  const table = overridesFor(config, owner, method)
  const layers = <K extends DecoratorName>(kind: K) => {
    const settings = declared[kind]
    return settings && layersFor(table, owner, method, kind, settings)
  }
  const { clock, runtime } = config
  const shared = { ...(clock && { clock }), ...(config.random && { random: config.random }) }
  const retryLayers = layers('Retry')
  const retry = retryLayers && applyDefaults('Retry', retryLayers)
  const name = (retry ?? declared.Retry)?.name || (owner === undefined ? method : `${owner}.${method}`)
  const timeoutLayers = layers('Timeout')
  const options: GuardOptions = {
    ...shared,
    name,
    retry: retry === undefined ? false : toRetryOptions(retry),
    timeout: {
      ...(timeoutLayers && { attempt: applyDefaults('Timeout', timeoutLayers).value ?? 0 }),
      ...(retry?.maxDuration && { total: retry.maxDuration }),
    },
  }
  const breakerLayers = layers('CircuitBreaker')
  const breaker =
    breakerLayers === undefined
      ? previous?.breaker
      : reuseOrCreateBreaker(toBreakerOptions(breakerLayers), clock, name, previous?.breaker)
  if (breakerLayers !== undefined && breaker !== undefined) options.breaker = breaker.value

  const bulkheadLayers = layers('Bulkhead')
  const bulkheadState =
    bulkheadLayers === undefined
      ? previous?.bulkheadState
      : reuseOrCreateBulkhead(
          applyDefaults('Bulkhead', bulkheadLayers),
          shared,
          name,
          previous?.bulkheadState,
        )
  const fallbackLayers = layers('Fallback')
  const runtimeGuard = runtime?.guardFor?.(name, options) ?? guard(options)
  previous?.unsubscribe?.()
  return {
    config,
    guard: runtimeGuard,
    bulkhead: bulkheadLayers && bulkheadState?.value,
    fallback: fallbackLayers && createFallback(applyDefaults('Fallback', fallbackLayers), name),
    unsubscribe: runtime?.onEvent && runtimeGuard.on((event) => runtime.onEvent?.(event)),
    breaker,
    bulkheadState,
  }
}

function reuseOrCreateBreaker(
  options: BreakerOptions,
  clock: DecoratorConfig['clock'],
  id: string,
  previous: MethodPolicy['breaker'],
): NonNullable<MethodPolicy['breaker']> {
  const reusable =
    previous !== undefined && previous.clock === clock && previous.value.id === id ? previous : undefined
  if (reusable !== undefined && isSameOptions(reusable.options, options)) return reusable
  const breakerOptions = { ...options, id, ...(clock && { clock }) }
  const value =
    reusable === undefined
      ? new CircuitBreaker(breakerOptions)
      : CircuitBreaker.restore(reusable.value.snapshot(), breakerOptions)
  return { options, clock, value }
}

function reuseOrCreateBulkhead(
  { value: limit = 0, waitingTaskQueue: queue = 0 }: DecoratorSettings['Bulkhead'],
  shared: GuardOptions,
  name: string,
  previous: MethodPolicy['bulkheadState'],
): NonNullable<MethodPolicy['bulkheadState']> {
  const options = { limit, queue, name }
  if (previous !== undefined && previous.clock === shared.clock && isSameOptions(previous.options, options))
    return previous
  return {
    options,
    clock: shared.clock,
    value: guard({ ...shared, name, retry: false, bulkhead: { limit, queue } }),
  }
}

/** Whether two objects have the same options with equal values. */
function isSameOptions(a: object, b: object): boolean {
  const [entries, other] = [Object.entries(a), new Map(Object.entries(b))]
  return (
    entries.length === other.size &&
    entries.every(([option, value]) => isEqualValue(value, other.get(option)))
  )
}

const isEqualValue = (a: unknown, b: unknown): boolean =>
  Object.is(a, b) || (Array.isArray(a) && Array.isArray(b) && isSameOptions(a, b))
