import { isDeepStrictEqual } from 'node:util'
import type { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import type { HistoryClock } from './history-clock.js'
import type { StoreMachine, StoreProcess } from './store-machine.js'

/** What the parts of a history need of the machine on which the processes run. */
type HistoryMachine = Pick<StoreMachine, 'run'> &
  Partial<Pick<StoreMachine, 'fileNames' | 'stopped' | 'running'>> & {
    /** Whether a call can fail now, or its process can die. */
    readonly hasFault?: boolean
    /** Whether a call can be carried out twice now, because the thread of a store has ended. */
    readonly canRepeatCalls?: boolean
    /** How many records a journal writes in one transaction; undefined for a store that appends lines to files. */
    readonly transactionSize?: number
  }

/** What the parts of a history share. */
export interface HistoryContext {
  readonly machine: HistoryMachine
  readonly choices: Choices
  readonly clock: HistoryClock
  report(violation: Violation): void
  trace(text: string): void
}

/** A naive client of one part of a store: it makes one change after another, and knows what the store can have. */
export interface HistoryPart {
  readonly name: string
  /** Makes one step in a process. */
  step(process: StoreProcess): Promise<void>
  /** Reads what is not certain after a failure, and checks that the store has one of the possible states. */
  resolve(process: StoreProcess): Promise<void>
  losePower(): void
}

/** Another process that runs on the machine and responds; undefined if there is none. */
export const otherProcess = ({ machine }: HistoryContext, process: StoreProcess): StoreProcess | undefined =>
  machine.running?.find((other) => other !== process && other !== machine.stopped)

/** Reports a violation if a result differs from what the interface promises. */
export function expectEqual(
  { report }: HistoryContext,
  invariant: string,
  what: string,
  got: unknown,
  wanted: unknown,
): void {
  if (isDeepStrictEqual(got, wanted)) return
  report(
    new Violation(invariant, `the store returned ${format(got)} for ${what}, expected ${format(wanted)}`),
  )
}

export const format = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}
