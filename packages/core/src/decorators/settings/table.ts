import { matcherProblems } from '../../classify/index.js'
import {
  createProblem,
  defaultsOf,
  type OptionProblem,
  type OptionSpec,
  optionProblem,
  parseOptions,
  requireAtLeast,
} from '../../options.js'
import { BULKHEAD_SPEC, type BulkheadSettings } from './bulkhead.js'
import {
  BREAKER_SETTING_NAMES,
  breakerProblem,
  breakerProblems,
  type CircuitBreakerSettings,
} from './circuit-breaker.js'
import { FALLBACK_SPEC, type FallbackSettings } from './fallback.js'
import { RETRY_SETTINGS_SPEC, type RetrySettings } from './retry.js'
import { TIMEOUT_SPEC, type TimeoutSettings } from './timeout.js'

/** The settings of each decorator. */
export interface DecoratorSettings {
  Retry: RetrySettings
  CircuitBreaker: CircuitBreakerSettings
  Timeout: TimeoutSettings
  Fallback: FallbackSettings
  Bulkhead: BulkheadSettings
}

/** The name of a decorator. */
export type DecoratorName = keyof DecoratorSettings

/** The settings of each decorator except CircuitBreaker, which also accepts breaker options. */
const DECORATOR_SPECS = {
  Retry: RETRY_SETTINGS_SPEC,
  Timeout: TIMEOUT_SPEC,
  Fallback: FALLBACK_SPEC,
  Bulkhead: BULKHEAD_SPEC,
}

const settingNames = (names: object) => ['enabled', ...Object.keys(names)]

/** The settings that an override of each decorator can have. */
export const SETTING_NAMES: { readonly [K in DecoratorName]: readonly string[] } = {
  Retry: settingNames(RETRY_SETTINGS_SPEC),
  CircuitBreaker: ['enabled', ...BREAKER_SETTING_NAMES],
  Timeout: settingNames(TIMEOUT_SPEC),
  Fallback: settingNames(FALLBACK_SPEC),
  Bulkhead: settingNames(BULKHEAD_SPEC),
}

const DECORATOR_NAMES = Object.keys(SETTING_NAMES).toSorted()

/** The settings that are lists of matchers. */
const MATCHER_SETTINGS = ['retryOn', 'abortOn', 'applyOn', 'skipOn'] as const

/** The problems of the settings of a decorator. */
export function settingProblems(kind: DecoratorName, input: object): OptionProblem[] {
  if (kind === 'CircuitBreaker' && Object(input) === input) return breakerProblems(input, kind)
  const problems: OptionProblem[] = []
  const spec: OptionSpec = DECORATOR_SPECS[kind as keyof typeof DECORATOR_SPECS] ?? {}
  const settings = parseOptions(
    kind,
    input,
    defaultsOf(spec) as RetrySettings & FallbackSettings,
    spec,
    problems,
  )
  for (const list of MATCHER_SETTINGS)
    problems.push(...matcherProblems(`${kind}.${list}`, settings[list] ?? []))
  if (kind === 'Retry') {
    const { maxDelay, delay } = settings as { maxDelay: number; delay: number }
    requireAtLeast('Retry.maxDelay', maxDelay, 'delay', delay, problems)
  }
  if (kind === 'Fallback' && (settings.fallbackMethod === undefined) === (settings.value === undefined))
    problems.push(
      createProblem(
        'Fallback',
        'conflict',
        'either a function or a fallbackMethod',
        settings.value === undefined ? 'neither' : 'both',
      ),
    )
  return problems
}

/** The problems of an override of one setting; `enabled` is a setting of every decorator. */
export function overrideProblems(key: string, kind: string, name: string, value: unknown): OptionProblem[] {
  const path = `overrides[${JSON.stringify(key)}]`
  if (!DECORATOR_NAMES.includes(kind))
    return [optionProblem(path, `one of the decorators ${DECORATOR_NAMES.join(', ')}`, kind)]
  const spec: OptionSpec = DECORATOR_SPECS[kind as keyof typeof DECORATOR_SPECS] ?? {}
  const names = SETTING_NAMES[kind as DecoratorName]
  if (!names.includes(name)) return [optionProblem(path, `one of ${names.join(', ')} for ${kind}`, name)]
  if (name === 'enabled') return typeof value === 'boolean' ? [] : [optionProblem(path, 'a boolean', value)]
  if (kind === 'CircuitBreaker') return breakerProblem(name, value, path)
  const problems: OptionProblem[] = []
  parseOptions(path, { [name]: value }, {}, spec, problems)
  if (problems.length === 0 && MATCHER_SETTINGS.includes(name as never))
    problems.push(...matcherProblems(path, value))
  return problems
}

/** Merges the layers of settings over the defaults. Those of CircuitBreaker are merged by `toBreakerOptions`. */
export function applyDefaults<K extends Exclude<DecoratorName, 'CircuitBreaker'>>(
  kind: K,
  layers: readonly DecoratorSettings[K][],
): DecoratorSettings[K] {
  const spec: OptionSpec = DECORATOR_SPECS[kind]
  return layers.reduce(
    (base, layer) => parseOptions(kind, layer, base, spec, []),
    defaultsOf(spec) as DecoratorSettings[K],
  )
}
