import { CircuitBreaker } from '../breaker/breaker.js'
import type { BreakerOptions } from '../breaker/options.js'
import { type Guard, guard } from '../guard/guard.js'
import type { GuardOptions } from '../guard/options.js'
import { type Configuration, overridesOf } from './configure.js'
import { type Fall, fallOf } from './fall.js'
import { layersFor } from './overrides.js'
import { toBreaker } from './settings/circuit-breaker.js'
import { toRetry } from './settings/retry.js'
import { filled, type Kind, type Settings } from './settings/table.js'

/** How a method is called under one configuration. */
export interface Plan {
  readonly config: Configuration
  /** Retries, breaker and deadlines. */
  readonly guard: Guard
  /** The bulkhead, inside of the others: each attempt asks for a place. */
  readonly bulkhead: Guard | undefined
  readonly fall: Fall | undefined
  /** Stops telling the runtime. */
  readonly hush: (() => void) | undefined
  /** Kept for the next plan. */
  readonly breaker: Kept<BreakerOptions, CircuitBreaker> | undefined
  readonly places: Kept<object, Guard> | undefined
}

/** Something with state, and what it was made of. */
interface Kept<O, T> {
  readonly options: O
  readonly clock: Configuration['clock']
  readonly value: T
}

/**
 * What to do for a method, by its decorators and the configuration. State outlives a change of the configuration: what
 * is made of the same options is kept, and a breaker with other options begins where the one before it stands.
 */
export function planFor(
  config: Configuration,
  owner: string | undefined,
  method: string,
  declared: Partial<Settings>,
  before: Plan | undefined,
): Plan {
  const table = overridesOf(config, owner, method)
  const layers = <K extends Kind>(kind: K) => {
    const settings = declared[kind]
    return settings && layersFor(table, owner, method, kind, settings)
  }
  const { clock, runtime } = config
  const shared = { ...(clock && { clock }), ...(config.random && { random: config.random }) }
  const retries = layers('Retry')
  const retry = retries && filled('Retry', retries)
  const name = (retry ?? declared.Retry)?.name || (owner === undefined ? method : `${owner}.${method}`)
  const timeouts = layers('Timeout')
  const options: GuardOptions = {
    ...shared,
    name,
    retry: retry === undefined ? false : toRetry(retry),
    timeout: {
      ...(timeouts && { attempt: filled('Timeout', timeouts).value ?? 0 }),
      ...(retry?.maxDuration && { total: retry.maxDuration }),
    },
  }
  const breakers = layers('CircuitBreaker')
  const breaker =
    breakers === undefined ? before?.breaker : breakerFor(toBreaker(breakers), clock, name, before?.breaker)
  if (breakers !== undefined && breaker !== undefined) options.breaker = breaker.value

  const limits = layers('Bulkhead')
  const places =
    limits === undefined
      ? before?.places
      : placesFor(filled('Bulkhead', limits), shared, name, before?.places)
  const falls = layers('Fallback')
  const made = runtime?.guardFor?.(name, options) ?? guard(options)
  before?.hush?.()
  return {
    config,
    guard: made,
    bulkhead: limits && places?.value,
    fall: falls && fallOf(filled('Fallback', falls), name),
    hush: runtime?.onEvent && made.on((event) => runtime.onEvent?.(event)),
    breaker,
    places,
  }
}

function breakerFor(
  options: BreakerOptions,
  clock: Configuration['clock'],
  id: string,
  before: Plan['breaker'],
): NonNullable<Plan['breaker']> {
  const known = before !== undefined && before.clock === clock && before.value.id === id ? before : undefined
  if (known !== undefined && isSame(known.options, options)) return known
  const full = { ...options, id, ...(clock && { clock }) }
  const value =
    known === undefined ? new CircuitBreaker(full) : CircuitBreaker.restore(known.value.snapshot(), full)
  return { options, clock, value }
}

function placesFor(
  { value: limit = 0, waitingTaskQueue: queue = 0 }: Settings['Bulkhead'],
  shared: GuardOptions,
  name: string,
  before: Plan['places'],
): NonNullable<Plan['places']> {
  const options = { limit, queue, name }
  if (before !== undefined && before.clock === shared.clock && isSame(before.options, options)) return before
  return {
    options,
    clock: shared.clock,
    value: guard({ ...shared, name, retry: false, bulkhead: { limit, queue } }),
  }
}

/** Whether two sets of options say the same. */
function isSame(a: object, b: object): boolean {
  const [one, other] = [Object.entries(a), new Map(Object.entries(b))]
  return one.length === other.size && one.every(([word, value]) => equal(value, other.get(word)))
}

const equal = (a: unknown, b: unknown): boolean =>
  Object.is(a, b) || (Array.isArray(a) && Array.isArray(b) && isSame(a, b))
