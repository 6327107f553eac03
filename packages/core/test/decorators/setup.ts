import { afterEach, beforeEach } from 'vitest'
import * as ft from '../../src/decorators/index.js'
import type { GuardEvent } from '../../src/guard/events.js'
import { guard } from '../../src/guard/guard.js'
import type { GuardOptions } from '../../src/guard/options.js'
import { type FakeClock, fakeClock } from '../../src/testing/index.js'

/** Decorated methods on a clock that stands still, with what their guards were made of and what happened in them. */
export interface Bench {
  clock: FakeClock
  /** What each guard was last made of, by its name. */
  made: Record<string, GuardOptions>
  events: GuardEvent[]
  /** Configures with more than the clock. */
  configure(options?: ft.DecoratorOptions): void
}

/** A new bench for each test of the file. */
export function setUp(): Bench {
  const bench = {} as Bench
  beforeEach(() => {
    Object.assign(bench, {
      clock: fakeClock(),
      made: {},
      events: [],
      configure: (options: ft.DecoratorOptions = {}) =>
        ft.configureDecorators({
          clock: bench.clock,
          random: () => 0.5,
          runtime: {
            guardFor: (name, given) => guard((bench.made[name] = given)),
            onEvent: (event) => bench.events.push(event),
          },
          ...options,
        }),
    } satisfies Bench)
    bench.configure()
  })
  afterEach(() => ft.configureDecorators())
  return bench
}

/** The message of what a function throws, for the lists of problems. */
export function problemsOf(fn: () => unknown): readonly string[] {
  try {
    fn()
  } catch (error) {
    return (error as { details?: string[] }).details ?? [String(error)]
  }
  return []
}
