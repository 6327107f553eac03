import type { Clock, Random } from '../clock.js'
import type { GuardEvent } from '../guard/events.js'
import type { Guard } from '../guard/guard.js'
import type { GuardOptions } from '../guard/options.js'
import {
  clockOption,
  type OptionProblem,
  type OptionSpecOf,
  ofType,
  parseOptions,
  throwIfInvalid,
} from '../options.js'
import { sharedByAllCopies } from '../shared-registry.js'
import { type Overrides, type OverrideTable, parseOverrides } from './overrides.js'

/** The names of a decorated method and its class. */
export interface DecoratedMethod {
  /** The name of the class. */
  readonly owner: string
  /** The name of the method. */
  readonly method: string
}

/** The part of a runtime that decorated methods use. Every member is optional. */
export interface DecoratorRuntime {
  /**
   * Returns overrides, such as those of a file; those given to {@link configureDecorators} take precedence. Called by
   * {@link configureDecorators} without a method, and for each method at its first call.
   */
  overrides?(method?: DecoratedMethod): Overrides
  /** Calls `changed` whenever the overrides have changed. Returns a function that unsubscribes it. */
  follow?(changed: () => void): () => void
  /** Creates the guard of the method `name` (`Class.method`). @defaultValue `guard(options)` */
  guardFor?(name: string, options: GuardOptions): Guard
  /** Called with the events of every decorated method. */
  onEvent?(event: GuardEvent): void
}

/** Options of all decorated methods. */
export interface DecoratorOptions {
  /** Provides overrides, creates the guards and receives the events. */
  runtime?: DecoratorRuntime | undefined
  /** The source of time. @defaultValue the system clock */
  clock?: Clock | undefined
  /** The source of random numbers. @defaultValue the system's */
  random?: Random | undefined
  /** False disables all decorators, including fallbacks: every method is called directly. @defaultValue true */
  enabled?: boolean | undefined
  /** Settings that override those of the decorators. */
  overrides?: Overrides | undefined
}

/** {@link DecoratorOptions}, validated. Methods recognize a change of the configuration by the identity of this object. */
export interface DecoratorConfig {
  readonly enabled: boolean
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
  readonly runtime?: DecoratorRuntime | undefined
  /** The overrides given to {@link configureDecorators}, without those of the runtime. */
  readonly overrides: Overrides
}

const DECORATOR_SPEC = {
  runtime: [undefined, ofType('object')],
  clock: [undefined, clockOption],
  random: [undefined, ofType('function')],
  enabled: [true, ofType('boolean')],
  overrides: [{}, ofType('object')],
} satisfies OptionSpecOf<DecoratorOptions>

/** The configuration of the decorated methods of all copies of this package in the process. */
interface DecoratorState {
  config: DecoratorConfig
  unsubscribe: (() => void) | undefined
}

/** The number at the end grows with each change of the state. */
const state = sharedByAllCopies<DecoratorState>('decorators.1', () => ({
  config: { enabled: true, overrides: {} },
  unsubscribe: undefined,
}))

/** The active configuration. */
export const currentConfig = (): DecoratorConfig => state.config

/**
 * Configures all decorated methods, including existing ones: clock and random numbers, a runtime, overrides by class and
 * method, and whether decorators are enabled. It replaces the configuration of an earlier call; without options it restores
 * the defaults. A breaker whose settings change keeps its state, unless the clock changes.
 *
 * @throws INVALID_OPTIONS that lists all problems; the previous configuration then remains active
 *
 * @example
 * ```ts
 * import * as ft from 'holdfast/decorators'
 *
 * class Storage {
 *   calls = 0
 *
 *   @ft.Retry({ maxRetries: 1, jitter: 0 })
 *   async load(): Promise<string> {
 *     if (++this.calls < 3) throw new Error('not yet')
 *     return 'loaded'
 *   }
 * }
 *
 * ft.configureDecorators({ overrides: { 'Storage/load/Retry/maxRetries': 5 } })
 * await new Storage().load() // => 'loaded'
 * ft.configureDecorators({ overrides: { 'Retry/enabled': false } })
 * await new Storage().load() // throws Error
 * ft.configureDecorators()
 * ```
 */
export function configureDecorators(options: DecoratorOptions = {}): void {
  const problems: OptionProblem[] = []
  const { overrides = {}, ...rest } = parseOptions(
    '',
    options,
    { enabled: true } as DecoratorOptions,
    DECORATOR_SPEC,
    problems,
  )
  parseOverrides({ ...rest.runtime?.overrides?.(), ...overrides }, problems)
  throwIfInvalid('the configuration of decorators', problems)
  state.unsubscribe?.()
  state.config = Object.freeze({ ...rest, enabled: rest.enabled !== false, overrides })
  // A new object makes every method create its policy again.
  state.unsubscribe = rest.runtime?.follow?.(() => {
    state.config = Object.freeze({ ...state.config })
  })
}

/** The overrides for a method: those of the runtime, overridden by those of {@link configureDecorators}. */
export function overridesFor(
  config: DecoratorConfig,
  owner: string | undefined,
  method: string,
): OverrideTable {
  const { runtime, overrides } = config
  const runtimeOverrides = runtime?.overrides?.(owner === undefined ? undefined : { owner, method })
  return parseOverrides({ ...runtimeOverrides, ...overrides }, [])
}
