import {
  anyOf,
  type OptionProblem,
  type OptionRule,
  type OptionSpecOf,
  ofType,
  parseOptions,
  throwIfInvalid,
} from '../options.js'
import { type CompiledRetryPolicy, parseRetryOptions } from '../retry/options.js'
import type { RunOptions } from './guard.js'

const anything: OptionRule = ['anything', () => true]

const RUN_OPTIONS = {
  signal: [
    undefined,
    [
      'an AbortSignal',
      // Null means no signal, as in fetch.
      (value: AbortSignal | null) => value === null || typeof value.addEventListener === 'function',
    ],
  ],
  context: [undefined, anything],
  retry: [undefined, anyOf(ofType('object'), ['false', (value: unknown) => value === false])],
} satisfies OptionSpecOf<RunOptions>

/** Whether options are valid and do not change the retry policy. Every call with options is checked, so this allocates nothing. */
function isValid(options: RunOptions): boolean {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return false
  for (const name in options) {
    if (name === 'context') continue
    if (name !== 'signal') return false
    const { signal } = options
    if (signal && typeof signal.addEventListener !== 'function') return false
  }
  return true
}

/**
 * Returns the retry policy of a call with options of its own.
 *
 * @throws INVALID_OPTIONS that lists every option that is unknown or invalid
 */
export function parseRunOptions(options: RunOptions, base: CompiledRetryPolicy): CompiledRetryPolicy {
  if (isValid(options)) return base
  const problems: OptionProblem[] = []
  const { retry } = parseOptions<RunOptions>('', withInherited(options), {}, RUN_OPTIONS, problems)
  const policy =
    retry === false
      ? { ...base, maxAttempts: 1, retryIf: undefined }
      : retry === undefined
        ? base
        : parseRetryOptions(retry, base, problems)
  throwIfInvalid('the call', problems)
  return policy
}

/** Copies options together with those they inherit, which count too. */
function withInherited(options: RunOptions): RunOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return options
  const all: Record<string, unknown> = {}
  for (const name in options) all[name] = options[name as keyof RunOptions]
  return all
}
