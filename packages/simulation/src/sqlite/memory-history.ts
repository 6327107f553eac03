import { memoryStore } from '../../../store/src/memory/index.js'
import type { Store } from '../../../store/src/store.js'
import { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import { HistoryClock } from '../store-history/history-clock.js'
import type { HistoryContext, HistoryPart } from '../store-history/history-part.js'
import { JournalHistory } from '../store-history/journal-history.js'
import { JOURNAL_KINDS } from '../store-history/journal-kinds.js'
import { QueueHistory } from '../store-history/queue-history.js'
import type { Outcome, StoreProcess } from '../store-history/store-machine.js'
import { TableHistory } from '../store-history/table-history.js'
import { TABLE_KINDS } from '../store-history/table-kinds.js'

/** How many steps a history has. */
const STEPS = 250

/** The share of steps that use the dead letters, which have the most code. */
const QUEUE_SHARE = 0.4

/** Runs a history of one store in memory, and compares each result with naive models. It never fails. */
export async function runMemoryHistory(
  seed: number,
  trace: (at: number, subject: string, text: string) => void = () => {},
): Promise<Violation | undefined> {
  const choices = new Choices(seed ^ 0x3e30)
  let violation: Violation | undefined
  const report = (found: Violation) => {
    violation ??= found
  }
  const process: StoreProcess = {
    name: 'p1',
    // Nothing runs beside a call, so there is nothing to give a turn to.
    store: memoryStore({ nextTurn: async () => {} }),
    isAlive: true,
    fault: undefined,
    operationCount: 0,
  }
  const run = async <T>(_process: StoreProcess, work: (store: Store) => Promise<T>): Promise<Outcome<T>> => {
    try {
      return { kind: 'ok', value: await work(process.store) }
    } catch (error) {
      report(new Violation('hangs', `a call of the store in memory failed: ${String(error)}`))
      return { kind: 'failed', error }
    }
  }
  const clock = new HistoryClock(choices.fork())
  const context: HistoryContext = {
    machine: { run },
    choices: choices.fork(),
    clock,
    report,
    trace: (text) => trace(0, 'memory', text),
  }
  const queue = new QueueHistory(context)
  const parts: HistoryPart[] = [
    queue,
    ...JOURNAL_KINDS.map((kind) => new JournalHistory(kind, context)),
    ...TABLE_KINDS.map((kind) => new TableHistory(kind, context)),
  ]
  for (let step = 0; step < STEPS && violation === undefined; step++) {
    clock.advance()
    const part = choices.chance(QUEUE_SHARE) ? queue : choices.pick(parts)
    context.trace(`step ${step} of ${part.name}`)
    await part.step(process)
    await part.resolve(process)
  }
  return violation
}
