import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import type { Scenario } from '../scenario/scenario.js'
import type { Trace } from '../trace.js'

/** A simulation that runs: its time, its decisions, and the first promise that was not kept. */
export class Run {
  violation: Violation | undefined
  readonly scenario: Scenario
  readonly scheduler: Scheduler
  readonly choices: Choices
  private readonly trace: Trace

  constructor(scenario: Scenario, scheduler: Scheduler, choices: Choices, trace: Trace) {
    this.scenario = scenario
    this.scheduler = scheduler
    this.choices = choices
    this.trace = trace
  }

  readonly addTrace = (subject: string, text: string): void =>
    this.trace.add(this.scheduler.now, subject, text)

  readonly report = (violation: Violation): void => {
    this.violation ??= violation
  }

  /** Runs a check of a promise. */
  readonly check = (fn: () => void): void => {
    try {
      fn()
    } catch (error) {
      if (!(error instanceof Violation)) throw error
      this.report(error)
    }
  }
}

/** The node of a process: `n1` of `n1.3`. */
export const nodeOf = (process: string): string => process.slice(0, process.indexOf('.'))
