import { afterEach, beforeEach } from 'vitest'
import * as ft from '../../src/decorators/index.js'
import type { GuardEvent } from '../../src/guard/events.js'
import { guard } from '../../src/guard/guard.js'
import type { GuardOptions } from '../../src/guard/options.js'
import { type FakeClock, fakeClock } from '../../src/testing/index.js'

/** The test bench of decorated methods: a fake clock, the options of their guards and their events. */
export interface Bench {
  clock: FakeClock
  /** The last options of each guard, by its name. */
  made: Record<string, GuardOptions>
  events: GuardEvent[]
  /** Configures decorators with the clock and these options. */
  configure(options?: ft.DecoratorOptions): void
}

/** Creates a bench before each test of the file. */
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

/** The message of the error that a function throws. */
export function problemsOf(fn: () => unknown): readonly string[] {
  try {
    fn()
  } catch (error) {
    return (error as { details?: string[] }).details ?? [String(error)]
  }
  return []
}
