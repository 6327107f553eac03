import { Scheduler } from '../engine/scheduler.js'
import { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import { HistoryClock } from '../store-history/history-clock.js'
import type { HistoryContext, HistoryPart } from '../store-history/history-part.js'
import { JournalHistory } from '../store-history/journal-history.js'
import { JOURNAL_KINDS } from '../store-history/journal-kinds.js'
import { QueueHistory } from '../store-history/queue-history.js'
import { HistoryStop, runHistory } from '../store-history/run-history.js'
import type { StoreProcess } from '../store-history/store-machine.js'
import { TableHistory } from '../store-history/table-history.js'
import { TABLE_KINDS } from '../store-history/table-kinds.js'
import { STATEMENT_FAULTS, StatementFault, type StatementFaultKind } from './history-faults.js'
import { SqliteMachine } from './history-machine.js'
import { loadRealDriver } from './simulated-database.js'

/** How many steps a history has. */
const STEPS = 100

/** The share of steps with a fault. */
const FAULT_SHARE = 0.35

/** The share of steps that use the dead letters, which have the most code. */
const QUEUE_SHARE = 0.4

/** Longer than the history needs. */
const END_MS = 1e9

/** The tables whose changes are durable when they are acknowledged, by the part of the store. */
const DURABLE_TABLES: Readonly<Record<string, string>> = {
  deadLetters: 'dead_letters',
  audit: 'audit',
  layers: 'config_layers',
  values: 'named_values',
}

const THREAD_FAULTS = STATEMENT_FAULTS.filter((kind) => kind.startsWith('thread'))
const FAULTS_WITHOUT_THREADS = STATEMENT_FAULTS.filter((kind) => !kind.startsWith('thread'))

/** The names of the journals. The store sends an append again if its thread ends, so their records can be stored twice. */
const JOURNAL_NAMES: ReadonlySet<string> = new Set(JOURNAL_KINDS.map(({ name }) => name))

/** The faults of a part. The thread of a store ends only in the parts without journals. */
function faultsOf(part: string): readonly StatementFaultKind[] {
  if (JOURNAL_NAMES.has(part)) return FAULTS_WITHOUT_THREADS
  // Dead letters have the most calls that must not be sent again.
  return part === 'deadLetters' ? [...STATEMENT_FAULTS, ...THREAD_FAULTS, ...THREAD_FAULTS] : STATEMENT_FAULTS
}

/**
 * Runs a history of one SQLite store: two processes make changes of all of its parts, one statement after another fails, and each
 * result is compared with naive models. Returns the first promise that was not kept.
 */
export async function runSqliteHistory(
  seed: number,
  trace: (at: number, subject: string, text: string) => void = () => {},
): Promise<Violation | undefined> {
  const choices = new Choices(seed ^ 0x501e)
  const scheduler = new Scheduler(choices.fork().random)
  let violation: Violation | undefined
  const report = (found: Violation) => {
    violation ??= found
  }
  const addTrace = (text: string) => trace(scheduler.now, 'sqlite', text)
  const machine = new SqliteMachine(await loadRealDriver(), scheduler, choices.fork(), report)
  const clock = new HistoryClock(choices.fork())
  const context: HistoryContext = { machine, choices: choices.fork(), clock, report, trace: addTrace }
  const parts: HistoryPart[] = [
    new QueueHistory(context),
    ...JOURNAL_KINDS.map((kind) => new JournalHistory(kind, context)),
    ...TABLE_KINDS.map((kind) => new TableHistory(kind, context)),
  ]
  const [queue] = parts as [HistoryPart]

  let current = 'the start'
  const run = async () => {
    for (let step = 0; step < STEPS; step++) {
      clock.advance()
      const process = await openProcess(machine, choices)
      const part = choices.chance(QUEUE_SHARE) ? queue : choices.pick(parts)
      if (choices.chance(FAULT_SHARE)) beginFault(process, new StatementFault(choices, faultsOf(part.name)))
      current = `step ${step} of ${part.name} in ${process.name}, ${machine.fault?.kind ?? 'no fault'}`
      addTrace(current)
      await part.step(process)
      machine.fault = undefined
      machine.database.disarmCrashes()
      checkFlushed(part.name)
      if (violation !== undefined) throw new HistoryStop()
      await endProcess(machine, process, choices)
      const reader = await openProcess(machine, choices)
      for (const each of parts) await each.resolve(reader)
      if (violation !== undefined) throw new HistoryStop()
    }
    for (const process of machine.running) {
      await machine.run(process, (store) => store.close())
      await machine.checkIdle(process)
    }
  }

  const beginFault = (process: StoreProcess, fault: StatementFault) => {
    machine.fault = fault
    if (fault.isKill)
      machine.database.crashAtCommit(fault.number, fault.isBefore, () => machine.kill(process))
    if (fault.isThreadCrash)
      machine.database.crashAtCommit(fault.number, fault.isBefore, () => machine.crashThread(process))
  }

  const checkFlushed = (part: string) => {
    const table = DURABLE_TABLES[part]
    if (table !== undefined && machine.database.unflushed.has(table))
      report(
        new Violation('lost', `the SQLite store has acknowledged a change of ${table} that was not flushed`),
      )
  }

  try {
    await runHistory({
      scheduler,
      endMs: END_MS,
      store: 'a SQLite store',
      run,
      describeStep: () => current,
      report,
    })
  } finally {
    machine.remove()
  }
  return violation
}

/** A process whose store is open. There are at most two of them. */
async function openProcess(machine: SqliteMachine, choices: Choices): Promise<StoreProcess> {
  const { running } = machine
  if (running.length > 0 && (running.length > 1 || !choices.chance(0.3))) return choices.pick(running)
  const process = machine.start()
  await machine.run(process, (store) => store.open())
  return process
}

/** Ends a process in some cases: it closes its store or dies. */
async function endProcess(machine: SqliteMachine, process: StoreProcess, choices: Choices): Promise<void> {
  if (!process.isAlive || !choices.chance(0.08)) return
  if (choices.chance(0.6)) {
    await machine.run(process, (store) => store.close())
    await machine.checkIdle(process)
  }
  machine.kill(process)
}
