import type { CallTimeouts } from '../execution/hooks.js'
import {
  type OptionProblem,
  type OptionRule,
  type OptionSpecOf,
  parseOptions,
  throwIfInvalid,
} from '../options.js'
import { type CompiledRetryPolicy, parseRetryOptions } from '../retry/options.js'
import type { RunOptions } from './guard.js'
import { type GuardSettings, objectOrFalse, parseTimeouts } from './options.js'

/** The retry policy of a call, and its timeouts where they replace those of the guard. */
export interface RunPolicy {
  readonly policy: CompiledRetryPolicy
  readonly timeouts: CallTimeouts | undefined
}

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
  retry: [undefined, objectOrFalse],
  timeout: [undefined, objectOrFalse],
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
 * Returns the retry policy and the timeouts of a call with options of its own.
 *
 * @throws INVALID_OPTIONS that lists every option that is unknown or invalid
 */
export function parseRunOptions(options: RunOptions, settings: GuardSettings): RunPolicy {
  const { retry: base } = settings
  if (isValid(options)) return { policy: base, timeouts: undefined }
  const problems: OptionProblem[] = []
  const { retry, timeout } = parseOptions<RunOptions>('', withInherited(options), {}, RUN_OPTIONS, problems)
  const policy =
    retry === false
      ? { ...base, maxAttempts: 1, retryIf: undefined }
      : retry === undefined
        ? base
        : parseRetryOptions(retry, base, problems)
  const timeouts = timeout === undefined ? undefined : parseTimeouts(timeout, settings, problems)
  throwIfInvalid('the call', problems)
  return { policy, timeouts }
}

/** Copies options together with those they inherit, which count too. */
function withInherited(options: RunOptions): RunOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return options
  const all: Record<string, unknown> = {}
  for (const name in options) all[name] = options[name as keyof RunOptions]
  return all
}
