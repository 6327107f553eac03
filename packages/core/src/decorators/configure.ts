import type { Clock, Random } from '../clock.js'
import type { GuardEvent } from '../guard/events.js'
import type { Guard } from '../guard/guard.js'
import type { GuardOptions } from '../guard/options.js'
import { clockOption, type OptionSpecOf, ofType, parseOptions, throwIfInvalid } from '../options.js'
import { type Overrides, type OverrideTable, parseOverrides } from './overrides.js'

/** A decorated method, by the names of its class and itself. */
export interface DecoratedMethod {
  readonly owner: string
  readonly method: string
}

/** What decorated methods may be given from outside: the part of a runtime that they use. Every part is optional. */
export interface DecoratorRuntime {
  /**
   * Overrides, such as those of a file; those given to {@link configureDecorators} win over them. Asked for each method
   * when it is first called, and before without one.
   */
  overrides?(method?: DecoratedMethod): Overrides
  /** Tells `changed` whenever the overrides have changed, until the function it returns is called. */
  follow?(changed: () => void): () => void
  /** Makes the guard of a method called `name` (`Class.method`). @defaultValue `guard(options)` */
  guardFor?(name: string, options: GuardOptions): Guard
  /** Told what happens in every decorated method. */
  onEvent?(event: GuardEvent): void
}

/** What all decorated methods share. */
export interface DecoratorOptions {
  /** Where overrides come from, what makes the guards, and who is told what happens. */
  runtime?: DecoratorRuntime | undefined
  /** Where methods take their time from. @defaultValue the machine's clock */
  clock?: Clock | undefined
  /** Where methods take chance from. @defaultValue the machine's */
  random?: Random | undefined
  /** False calls every method straight through, fallbacks included. @defaultValue true */
  enabled?: boolean | undefined
  /** Settings that win over those written at the decorators. */
  overrides?: Overrides | undefined
}

/** {@link DecoratorOptions} checked. Each call of {@link configureDecorators} makes another. */
export interface DecoratorConfig {
  readonly enabled: boolean
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
  readonly runtime?: DecoratorRuntime | undefined
  /** What {@link configureDecorators} was given itself. */
  readonly overrides: Overrides
}

const DECORATOR_SPEC = {
  runtime: [undefined, ofType('object')],
  clock: [undefined, clockOption],
  random: [undefined, ofType('function')],
  enabled: [true, ofType('boolean')],
  overrides: [{}, ofType('object')],
} satisfies OptionSpecOf<DecoratorOptions>

let activeConfig: DecoratorConfig = { enabled: true, overrides: {} }
let unsubscribe: (() => void) | undefined

/** What holds now. */
export const currentConfig = (): DecoratorConfig => activeConfig

/**
 * Says what all decorated methods share, those made before included: time and chance, a runtime, overrides by class and
 * method, and the switch that turns all of it off. It replaces what an earlier call said; without options everything is
 * as it was at first. A breaker whose settings change keeps its state, unless the clock is another.
 *
 * @throws INVALID_OPTIONS that lists everything wrong; what held before then still holds
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
  const problems: string[] = []
  const { overrides = {}, ...rest } = parseOptions(
    '',
    options,
    { enabled: true } as DecoratorOptions,
    DECORATOR_SPEC,
    problems,
  )
  parseOverrides({ ...rest.runtime?.overrides?.(), ...overrides }, problems)
  throwIfInvalid('the configuration of decorators', problems)
  unsubscribe?.()
  activeConfig = Object.freeze({ ...rest, enabled: rest.enabled !== false, overrides })
  // Another object: every method makes its plan anew.
  unsubscribe = rest.runtime?.follow?.(() => {
    activeConfig = Object.freeze({ ...activeConfig })
  })
}

/** The overrides that concern a method. */
export function overridesFor(
  config: DecoratorConfig,
  owner: string | undefined,
  method: string,
): OverrideTable {
  const { runtime, overrides } = config
  const runtimeOverrides = runtime?.overrides?.(owner === undefined ? undefined : { owner, method })
  return parseOverrides({ ...runtimeOverrides, ...overrides }, [])
}
