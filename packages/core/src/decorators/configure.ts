import type { Clock, Random } from '../clock.js'
import type { GuardEvent } from '../guard/events.js'
import type { Guard } from '../guard/guard.js'
import type { GuardOptions } from '../guard/options.js'
import { clockRule, read, refuse, type SpecOf, typed } from '../options.js'
import { type Overrides, type OverrideTable, tableOf } from './overrides.js'

/**
 * What decorated methods may be given from outside: the part of a runtime that they use. Every part is optional. Its
 * form is provisional.
 */
export interface DecoratorRuntime {
  /** Overrides, such as those of a file; read by {@link configureDecorators}, whose own win over them. */
  overrides?(): Overrides
  /** Makes the guard of a method called `name` (`Class.method`). @defaultValue `guard(options)` */
  guardFor?(name: string, options: GuardOptions): Guard
  /** Told what happens in every decorated method. */
  onEvent?(event: GuardEvent): void
}

/** What all decorated methods share. */
export interface DecoratorOptions {
  /** Where overrides come from, what makes the guards, and who is told what happens. */
  runtime?: DecoratorRuntime
  /** Where methods take their time from. @defaultValue the machine's clock */
  clock?: Clock
  /** Where methods take chance from. @defaultValue the machine's */
  random?: Random
  /** False calls every method straight through, fallbacks included. @defaultValue true */
  enabled?: boolean
  /** Settings that win over those written at the decorators. */
  overrides?: Overrides
}

/** {@link DecoratorOptions} checked. Each call of {@link configureDecorators} makes another. */
export interface Configuration {
  readonly enabled: boolean
  readonly clock?: Clock
  readonly random?: Random
  readonly runtime?: DecoratorRuntime
  readonly table: OverrideTable
}

const SPEC = {
  runtime: [undefined, typed('object')],
  clock: [undefined, clockRule],
  random: [undefined, typed('function')],
  enabled: [true, typed('boolean')],
  overrides: [{}, typed('object')],
} satisfies SpecOf<DecoratorOptions>

let current: Configuration = { enabled: true, table: new Map() }

/** What holds now. */
export const configuration = (): Configuration => current

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
  const { overrides, ...rest } = read('', options, { enabled: true } as DecoratorOptions, SPEC, problems)
  const table = tableOf({ ...rest.runtime?.overrides?.(), ...overrides }, problems)
  refuse('the configuration of decorators', problems)
  current = Object.freeze({ ...rest, enabled: rest.enabled !== false, table })
}
