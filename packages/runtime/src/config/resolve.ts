import type { RetryPolicy } from '../records/policy.js'
import type { Layer } from './layer/layer.js'
import { type Places, placeKey } from './places.js'
import { READY } from './ready.js'
import { type Config, type PolicyEntry, policyEntryCodec } from './schema/schema.js'

/** The layers a value can come from, the weakest first. */
export type Origin = 'built-in' | 'global_defaults' | 'policy' | 'overrides' | 'environment' | 'api'

/** Where one value comes from. */
export interface FieldOrigin {
  readonly origin: Origin
  /** `file:line:column`, or the name of a variable, where that is known. */
  readonly where?: string
}

/** A policy with every value filled in, and where each came from. */
export interface ResolvedPolicy {
  readonly policy: RetryPolicy
  readonly origins: { readonly [field: string]: FieldOrigin }
}

/** What a policy is where nobody says anything. */
export const BUILT_IN = Object.freeze({
  enabled: true,
  maxAttempts: 3,
  backoffType: 'exponential',
  baseDelay: 1000,
  multiplier: 2,
  maxDelay: 30_000,
  jitterType: 'none',
  jitterAmount: 0.1,
  jitterMin: 0,
  jitterMax: 0,
  respectRetryAfter: true,
  maxRetryAfter: 60_000,
  retryNonIdempotent: false,
  enableCircuitBreaker: false,
  circuitBreakerThreshold: 5,
  circuitBreakerTimeout: 60_000,
  deadLetter: true,
  shadow: false,
} satisfies Partial<RetryPolicy>)

/** What is resolved: a config, and what is known about where its values stand. */
export interface PolicySource {
  readonly config: Config
  readonly places?: Places | undefined
}

/** Fills in every policy there is, layer by layer. */
export function resolvePolicies(source: PolicySource, layer?: Layer): Map<string, ResolvedPolicy> {
  const { config } = source
  const changes = layer?.policies ?? {}
  const own = config.policies ?? {}
  const ids = new Set([...Object.keys(READY), ...Object.keys(own), ...Object.keys(changes)])
  const resolved = new Map<string, ResolvedPolicy>()
  const ground = groundOf(source)
  for (const id of ids) {
    const change = Object.hasOwn(changes, id) ? changes[id] : undefined
    if (change === null) continue
    const entry = change === undefined ? undefined : policyEntryCodec.decode(change)
    resolved.set(id, build(ground, source, id, entry))
  }
  return resolved
}

/** Fills in one policy; `change` is what the API's layer says of it. */
export const resolvePolicy = (source: PolicySource, id: string, change?: PolicyEntry): ResolvedPolicy =>
  build(groundOf(source), source, id, change)

/** Values with their origins, while they are being put together. */
interface Draft {
  readonly values: Record<string, unknown>
  readonly origins: Record<string, FieldOrigin>
}

const BUILT_IN_ORIGIN: FieldOrigin = Object.freeze({ origin: 'built-in' })
const READY_ORIGIN: FieldOrigin = Object.freeze({ origin: 'policy', where: 'ready policy' })
const API_ORIGIN: FieldOrigin = Object.freeze({ origin: 'api' })

/** What all policies of a config stand on. */
function groundOf({ config, places = {} }: PolicySource): Draft {
  const ground: Draft = { values: {}, origins: {} }
  say(ground, BUILT_IN, () => BUILT_IN_ORIGIN)
  say(ground, config.globalDefaults ?? {}, (field) =>
    originAt('global_defaults', places[placeKey('global_defaults', field)]),
  )
  return ground
}

function say({ values, origins }: Draft, entry: PolicyEntry, originOf: (field: string) => FieldOrigin): void {
  for (const field of Object.keys(entry)) {
    const value = entry[field as keyof PolicyEntry]
    if (value === undefined || field === 'id') continue
    values[field] = value
    origins[field] = originOf(field)
  }
}

const originAt = (origin: Origin, where: string | undefined): FieldOrigin =>
  where === undefined ? { origin } : { origin: isVariable(where) ? 'environment' : origin, where }

function build(
  ground: Draft,
  { config, places = {} }: PolicySource,
  id: string,
  change: PolicyEntry | undefined,
): ResolvedPolicy {
  const own =
    config.policies !== undefined && Object.hasOwn(config.policies, id) ? config.policies[id] : undefined
  const draft: Draft = { values: { id, name: id, ...ground.values }, origins: { ...ground.origins } }
  if (own !== undefined)
    say(draft, own, (field) => originAt('policy', places[placeKey('policies', id, field)]))
  else if (Object.hasOwn(READY, id)) say(draft, READY[id] ?? {}, () => READY_ORIGIN)
  if (change !== undefined) say(draft, change, () => API_ORIGIN)
  const { values, origins } = draft
  // A cap caps the base that nobody gave; the two contradict each other only where somebody gave both.
  if (origins.baseDelay === BUILT_IN_ORIGIN || origins.baseDelay === READY_ORIGIN)
    values.baseDelay = Math.min(values.baseDelay as number, values.maxDelay as number)
  return Object.freeze({ policy: complete(values), origins: Object.freeze(origins) })
}

/** Variables have no colon in their names, and every place in a file has. */
const isVariable = (where: string): boolean => !where.includes(':')

/** What is left out of a part of a policy. */
const PARTS: { readonly [field: string]: object } = {
  bulkhead: { queue: 0 },
  hedge: { max: 1 },
  budget: { ratio: 0.2, reservePerSecond: 10, window: 10_000 },
}

/** A policy of the values that were said: null and endless timeouts are no limit. */
function complete(values: Record<string, unknown>): RetryPolicy {
  for (const part of Object.keys(PARTS))
    if (values[part] != null) values[part] = Object.freeze({ ...PARTS[part], ...(values[part] as object) })
  for (const field of OPTIONAL)
    if (values[field] === null || values[field] === Number.POSITIVE_INFINITY) delete values[field]
  return Object.freeze(values) as RetryPolicy
}

/** The fields that a policy may lack. */
const OPTIONAL = [
  'description',
  'retryableExceptions',
  'abortExceptions',
  'retryStatusCodes',
  'attemptTimeout',
  'totalTimeout',
  'circuitBreaker',
  'bulkhead',
  'hedge',
  'budget',
]

/** Two fields of a policy that contradict each other. */
export interface Contradiction {
  /** The field that is too small, and the one that it must reach. */
  readonly field: 'maxDelay' | 'jitterMax'
  readonly least: 'baseDelay' | 'jitterMin'
}

/** What contradicts itself in a policy that is filled in. */
export function contradictions({ policy }: ResolvedPolicy): Contradiction[] {
  const found: Contradiction[] = []
  if (policy.maxDelay < policy.baseDelay) found.push({ field: 'maxDelay', least: 'baseDelay' })
  if (policy.jitterMax < policy.jitterMin) found.push({ field: 'jitterMax', least: 'jitterMin' })
  return found
}
