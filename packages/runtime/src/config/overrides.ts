import { isHoldfastError } from 'holdfast'
import { Bulkhead, CircuitBreaker, Fallback, Retry, Timeout } from 'holdfast/decorators'
import { variableName } from './environment.js'
import { nearest } from './nearest.js'
import { type Environment, scalarOf } from './text/interpolate.js'

/** The decorators, each as the function that refuses settings that are wrong. */
const CHECKS: { readonly [decorator: string]: (settings: never) => unknown } = {
  Retry,
  CircuitBreaker,
  Timeout,
  Fallback,
  Bulkhead,
}

/** What a setting is only sound beside; an override may come without. */
const BESIDE: { readonly [setting: string]: object } = {
  'CircuitBreaker/slowCallRate': { slowCallDuration: 1 },
  'CircuitBreaker/slowCallDuration': { slowCallRate: 1 },
  'CircuitBreaker/maxTimeoutDuration': { timeoutDuration: 1 },
  'Retry/maxDelay': { delay: 0 },
  'Fallback/applyOn': { fallbackMethod: 'any' },
  'Fallback/skipOn': { fallbackMethod: 'any' },
}

/** Every setting that an override can have, by decorator. */
const SETTINGS: { readonly [decorator: string]: readonly string[] } = {
  Retry: [
    'enabled',
    'maxRetries',
    'delay',
    'maxDelay',
    'maxDuration',
    'jitter',
    'retryOn',
    'abortOn',
    'name',
  ],
  CircuitBreaker: [
    'enabled',
    'requestVolumeThreshold',
    'failureRatio',
    'delay',
    'failOn',
    'skipOn',
    'failureThreshold',
    'windowType',
    'windowDuration',
    'failureRate',
    'minimumCalls',
    'slowCallDuration',
    'slowCallRate',
    'timeoutDuration',
    'timeoutMultiplier',
    'maxTimeoutDuration',
    'successThreshold',
    'halfOpenMax',
    'probeLease',
    'adaptive',
    'failureOn',
  ],
  Timeout: ['enabled', 'value'],
  Fallback: ['enabled', 'fallbackMethod', 'applyOn', 'skipOn'],
  Bulkhead: ['enabled', 'value', 'waitingTaskQueue'],
}

/** What is wrong with an override, in a sentence; undefined where nothing is. */
export function overrideProblem(
  key: string,
  value: unknown,
  shown: (value: unknown) => string,
): string | undefined {
  const parts = key.split('/')
  const [decorator = '', setting = ''] = parts.slice(-2)
  if (parts.length < 2 || parts.length > 4 || parts.includes(''))
    return 'takes Class/method/Decorator/setting, Class/Decorator/setting or Decorator/setting'
  if (!Object.hasOwn(SETTINGS, decorator))
    return `${JSON.stringify(decorator)} is no decorator, takes ${oneOf(decorator, Object.keys(SETTINGS))}`
  const known = SETTINGS[decorator] ?? []
  if (!known.includes(setting))
    return `${decorator} has no setting ${JSON.stringify(setting)}, takes ${oneOf(setting, known)}`
  if (setting === 'enabled')
    return typeof value === 'boolean' ? undefined : `got ${shown(value)}, takes true or false`
  try {
    CHECKS[decorator]?.({ ...BESIDE[`${decorator}/${setting}`], [setting]: value } as never)
    return undefined
  } catch (error) {
    const takes = isHoldfastError(error)
      ? /(takes .*)/s.exec(error.details?.[0] ?? error.message)?.[1]
      : undefined
    return `got ${shown(value)}, ${takes ?? 'takes another value'}`
  }
}

const oneOf = (word: string, known: readonly string[]): string => {
  const like = nearest(word, known)
  return `one of ${known.join(', ')}${like === undefined ? '' : ` (did you mean ${like}?)`}`
}

/** A decorated method. */
export interface DecoratedMethod {
  readonly owner: string
  readonly method: string
}

/**
 * Overrides that the environment gives, each with its variable: for the keys that are known, for all methods, and for
 * those methods that are declared. The name of a class cannot be told from capitals, so it must be known.
 */
export function environmentOverrides(
  env: Environment,
  known: Iterable<string>,
  methods: Iterable<DecoratedMethod> = [],
): Map<string, { variable: string; value: unknown }> {
  const places = ['', ...[...methods].flatMap(({ owner, method }) => [`${owner}/`, `${owner}/${method}/`])]
  const keys = new Set(known)
  for (const place of places)
    for (const [decorator, settings] of Object.entries(SETTINGS))
      for (const setting of settings) keys.add(`${place}${decorator}/${setting}`)
  const found = new Map<string, { variable: string; value: unknown }>()
  for (const key of keys) {
    const variable = variableName(key)
    const text = Object.hasOwn(env, variable) ? env[variable] : undefined
    if (text !== undefined) found.set(key, { variable, value: valueOf(key, text) })
  }
  return found
}

/** The overrides of a config with those of the environment over them: what decorators are given. */
export function decoratorOverrides(
  overrides: { readonly [key: string]: unknown } | undefined,
  env: Environment = process.env,
  methods: Iterable<DecoratedMethod> = [],
): Record<string, unknown> {
  const result = { ...overrides }
  for (const [key, { value }] of environmentOverrides(env, Object.keys(result), methods)) result[key] = value
  return result
}

/** The classes that overrides name and that no decorated method belongs to: not yet, or never. */
export function undeclared(
  overrides: { readonly [key: string]: unknown } | undefined,
  methods: Iterable<DecoratedMethod>,
): string[] {
  const known = new Set([...methods].flatMap(({ owner, method }) => [owner, `${owner}/${method}`]))
  const named = Object.keys(overrides ?? {}).map((key) => key.split('/').slice(0, -2).join('/'))
  return [...new Set(named)].filter((place) => place !== '' && !known.has(place))
}

const valueOf = (key: string, text: string): unknown =>
  /(On)$/.test(key) ? text.split(',').map((item) => item.trim()) : scalarOf(text)
