import { matcherProblems } from '../../classify/index.js'
import { atLeast, read, type Spec, show, standards } from '../../options.js'
import { BULKHEAD, type BulkheadSettings } from './bulkhead.js'
import {
  BREAKER_WORDS,
  breakerProblem,
  breakerProblems,
  type CircuitBreakerSettings,
} from './circuit-breaker.js'
import { FALLBACK, type FallbackSettings } from './fallback.js'
import { RETRY, type RetrySettings } from './retry.js'
import { TIMEOUT, type TimeoutSettings } from './timeout.js'

/** The decorators by name, each with what it takes. */
export interface Settings {
  Retry: RetrySettings
  CircuitBreaker: CircuitBreakerSettings
  Timeout: TimeoutSettings
  Fallback: FallbackSettings
  Bulkhead: BulkheadSettings
}

/** The name of a decorator. */
export type Kind = keyof Settings

/** What each takes but CircuitBreaker, whose words are partly the engine's. */
const SPECS = { Retry: RETRY, Timeout: TIMEOUT, Fallback: FALLBACK, Bulkhead: BULKHEAD }

const KINDS = [...Object.keys(SPECS), 'CircuitBreaker'].toSorted()

/** The lists of matchers among the settings. */
const LISTS = ['retryOn', 'abortOn', 'applyOn', 'skipOn'] as const

/** What is wrong with the settings of a decorator: a sentence for each. */
export function problemsOf(kind: Kind, given: object): string[] {
  if (kind === 'CircuitBreaker' && Object(given) === given) return breakerProblems(given, kind)
  const problems: string[] = []
  const spec: Spec = SPECS[kind as keyof typeof SPECS] ?? {}
  const settings = read(kind, given, standards(spec) as RetrySettings & FallbackSettings, spec, problems)
  for (const list of LISTS) problems.push(...matcherProblems(`${kind}.${list}`, settings[list] ?? []))
  if (kind === 'Retry') {
    const { maxDelay, delay } = settings as { maxDelay: number; delay: number }
    atLeast('Retry.maxDelay', maxDelay, 'delay', delay, problems)
  }
  if (kind === 'Fallback' && (settings.fallbackMethod === undefined) === (settings.value === undefined))
    problems.push('Fallback: takes a function or a fallbackMethod, one of the two')
  return problems
}

/** What is wrong with an override of one setting, by itself; `enabled` is one of every decorator's. */
export function overrideProblems(key: string, kind: string, word: string, value: unknown): string[] {
  const path = `overrides[${JSON.stringify(key)}]`
  if (!KINDS.includes(kind)) return [`${path}: ${show(kind)} is no decorator, but one of ${KINDS.join(', ')}`]
  const spec: Spec = SPECS[kind as keyof typeof SPECS] ?? {}
  const words = ['enabled', ...(kind === 'CircuitBreaker' ? BREAKER_WORDS : Object.keys(spec))]
  if (!words.includes(word)) return [`${path}: ${kind} has no ${show(word)}, but ${words.join(', ')}`]
  if (word === 'enabled')
    return typeof value === 'boolean' ? [] : [`${path}: got ${show(value)}, takes a boolean`]
  if (kind === 'CircuitBreaker') return breakerProblem(word, value, path)
  const problems: string[] = []
  read(path, { [word]: value }, {}, spec, problems)
  if (problems.length === 0 && LISTS.includes(word as never)) problems.push(...matcherProblems(path, value))
  return problems
}

/** The settings of a decorator with its defaults filled in. CircuitBreaker's are filled in by `toBreaker`. */
export function filled<K extends Exclude<Kind, 'CircuitBreaker'>>(
  kind: K,
  layers: readonly Settings[K][],
): Settings[K] {
  const spec: Spec = SPECS[kind]
  return layers.reduce((base, layer) => read(kind, layer, base, spec, []), standards(spec) as Settings[K])
}
