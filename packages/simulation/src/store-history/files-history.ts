import { Scheduler } from '../engine/scheduler.js'
import { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import { HistoryClock } from './history-clock.js'
import type { HistoryContext, HistoryPart } from './history-part.js'
import { JournalHistory } from './journal-history.js'
import { JOURNAL_KINDS } from './journal-kinds.js'
import { QueueHistory } from './queue-history.js'
import { HistoryStop, runHistory } from './run-history.js'
import { StoreMachine, type StoreProcess } from './store-machine.js'
import { TableHistory } from './table-history.js'
import { TABLE_KINDS } from './table-kinds.js'
import { planTargetedFault } from './targeted-fault.js'

/** How many steps a history has. */
const STEPS = 160

/** The share of steps with a fault at one operation of the disk. */
const FAULT_SHARE = 0.4

/** The share of steps that use the dead letters, which have the most code. */
const QUEUE_SHARE = 0.4

/** The steps of other processes while one does not respond. */
const STEPS_WHILE_STOPPED = 3

/** The share of faults after which the power fails. */
const FOLLOWED_SHARE = 0.3

/** How many journals, and how many tables, a history uses. All journals have the same code, and so have most tables. */
const KINDS = 2

/** Longer than the history needs. */
const END_MS = 1e9

/**
 * Runs a history of one files store: two processes on one machine make changes of all of its parts, one operation of the disk after
 * another fails, and each result is compared with naive models. Returns the first promise that was not kept.
 */
export async function runFilesHistory(
  seed: number,
  trace: (at: number, subject: string, text: string) => void = () => {},
): Promise<Violation | undefined> {
  const choices = new Choices(seed ^ 0xf11e5)
  const scheduler = new Scheduler(choices.fork().random)
  let violation: Violation | undefined
  const report = (found: Violation) => {
    violation ??= found
  }
  const parts: HistoryPart[] = []
  const onPowerLost = () => {
    for (const part of parts) part.losePower()
  }
  const traceFiles = (text: string) => trace(scheduler.now, 'files', text)
  const machine = new StoreMachine(scheduler, choices.fork(), report, onPowerLost)
  const clock = new HistoryClock(choices.fork())
  const context: HistoryContext = { machine, choices: choices.fork(), clock, report, trace: traceFiles }
  parts.push(
    new QueueHistory(context),
    ...pickSome(choices, JOURNAL_KINDS).map((kind) => new JournalHistory(kind, context)),
    ...pickSome(choices, TABLE_KINDS).map((kind) => new TableHistory(kind, context)),
  )
  const [queue] = parts as [HistoryPart]

  let current = 'the start'
  const run = async () => {
    for (let step = 0; step < STEPS; step++) {
      clock.advance()
      const process = await openProcess(machine, choices, report)
      const part = choices.chance(QUEUE_SHARE) ? queue : choices.pick(parts)
      if (choices.chance(FAULT_SHARE)) process.fault = planTargetedFault(choices)
      current = `step ${step} of ${part.name} in ${process.name}, ${process.fault?.kind ?? 'no fault'}`
      traceFiles(current)
      await part.step(process)
      if (violation !== undefined) throw new HistoryStop()
      if (machine.stopped !== undefined) await continueLater(part)
      const wasHit = process.fault?.wasHit === true
      process.fault = undefined
      if (wasHit) await followFault(part)
      await endProcess(machine, process, choices)
      const reader = await openProcess(machine, choices, report)
      for (const each of parts) await each.resolve(reader)
      if (violation !== undefined) throw new HistoryStop()
    }
  }

  /** After some faults the next change follows at once, and then a power failure: what it relies on must be durable. */
  const followFault = async (part: HistoryPart) => {
    if (!choices.chance(FOLLOWED_SHARE)) return
    if (choices.chance(0.7)) {
      const process = await openProcess(machine, choices, report)
      await part.resolve(process)
      await part.step(process)
    }
    machine.losePower()
  }

  /** While a process does not respond, others take over its locks and change the same part. */
  const continueLater = async (part: HistoryPart) => {
    const other = await openProcess(machine, choices, report)
    await part.resolve(other)
    for (let step = 0; step < STEPS_WHILE_STOPPED; step++) {
      await part.step(other)
      await part.resolve(other)
    }
    await machine.continueStopped()
    await part.resolve(other)
  }

  await runHistory({
    scheduler,
    endMs: END_MS,
    store: 'a files store',
    run,
    describeStep: () => current,
    report,
  })
  return violation
}

const pickSome = <T>(choices: Choices, kinds: readonly T[]): readonly T[] => {
  const first = choices.below(kinds.length)
  return Array.from({ length: KINDS }, (_, at) => kinds[(first + at) % kinds.length] as T)
}

/** A process whose store is open. There are at most two of them. */
async function openProcess(
  machine: StoreMachine,
  choices: Choices,
  report: (violation: Violation) => void,
): Promise<StoreProcess> {
  const running = machine.running.filter((process) => process !== machine.stopped)
  if (running.length > 0 && (machine.running.length > 1 || !choices.chance(0.3))) return choices.pick(running)
  const process = machine.start()
  await machine.run(process, (store) => store.open())
  if (machine.running.length === 1) checkCleaned(machine, report)
  return process
}

/** The folders from which a process that opens the store deletes the temporary files of killed processes. */
const CLEANED_FOLDERS = [
  ...['sessions', 'events', 'audit', 'breaker_events', 'dlq'].map((name) => [name]),
  ...['WARNING', 'ERROR'].map((severity) => ['logs', severity]),
]

/** Checks that the first process on the machine has deleted what killed processes have left. */
function checkCleaned(machine: StoreMachine, report: (violation: Violation) => void): void {
  for (const folder of CLEANED_FOLDERS)
    for (const name of machine.fileNames(...folder))
      if (name.startsWith('.unfinished-'))
        report(new Violation('memory', `the files store was opened, and ${folder.join('/')}/${name} is left`))
}

/** Ends a process in some cases: it closes its store, dies, or loses its power. */
async function endProcess(machine: StoreMachine, process: StoreProcess, choices: Choices): Promise<void> {
  if (!process.isAlive || !choices.chance(0.08)) return
  const end = choices.below(4)
  if (end === 0) return machine.losePower()
  if (end < 3) await machine.run(process, (store) => store.close())
  machine.kill(process)
}
