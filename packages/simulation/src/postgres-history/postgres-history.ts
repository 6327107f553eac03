import { Scheduler } from '../engine/scheduler.js'
import { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import { VirtualClock } from '../engine/virtual-clock.js'
import { FaultyLink, type RequestFault } from '../network/faulty-link.js'
import { HistoryClock } from '../store-history/history-clock.js'
import type { HistoryContext } from '../store-history/history-part.js'
import { HistoryStop, runHistory } from '../store-history/run-history.js'
import type { Outcome, StoreProcess } from '../store-history/store-machine.js'
import { TableHistory } from '../store-history/table-history.js'
import { LAYERS } from '../store-history/table-kinds.js'
import { createSimulatedPostgres, createSimulatedPostgresStore } from '../substitutes/index.js'

/** How many steps a history has. */
const STEPS = 40

/** The share of steps in which a request fails, and the greatest number of that request. */
const FAULT_SHARE = 0.5
const MAX_REQUESTS = 3

/** Longer than the history needs. */
const END_MS = 1e9

/**
 * Runs a history of live changes in one simulated PostgreSQL: two processes make them in turn with the code of the store, one request
 * after another fails, and each result is compared with a naive model. A single failure is retried, so no call fails.
 */
export async function runPostgresHistory(
  seed: number,
  trace: (at: number, subject: string, text: string) => void = () => {},
): Promise<Violation | undefined> {
  const choices = new Choices(seed ^ 0x9057)
  const scheduler = new Scheduler(choices.fork().random)
  const postgres = createSimulatedPostgres()
  let violation: Violation | undefined
  const report = (found: Violation) => {
    violation ??= found
  }
  let fault: { readonly kind: RequestFault; requestsLeft: number } | undefined

  const takeFault = (): RequestFault | undefined => {
    if (fault === undefined || --fault.requestsLeft !== 0) return undefined
    return fault.kind
  }

  const createProcess = (name: string): StoreProcess => ({
    name,
    store: createSimulatedPostgresStore({
      host: { postgres, now: () => scheduler.now },
      node: name,
      clock: new VirtualClock(scheduler),
      random: choices.fork().random,
      connect: () => new FaultyLink(scheduler, choices.fork(), takeFault),
      runLater: (fn) => void scheduler.schedule(0, fn),
    }),
    isAlive: true,
    fault: undefined,
    operationCount: 0,
  })
  const processes = ['p1', 'p2'].map(createProcess)

  const call = async <T>(
    { name, store }: StoreProcess,
    work: (store: StoreProcess['store']) => Promise<T>,
  ): Promise<Outcome<T>> => {
    try {
      const value = await work(store)
      const isReplyLost = fault?.kind === 'lost_reply' && fault.requestsLeft <= 0
      // A deletion that is repeated after a lost reply does not know how many rows it has deleted.
      return { kind: 'ok', value, isCountUncertain: isReplyLost && typeof value === 'number' }
    } catch (error) {
      report(new Violation('hangs', `a call of ${name} failed after one lost request: ${String(error)}`))
      return { kind: 'failed', error }
    }
  }
  const context: HistoryContext = {
    machine: { run: call },
    choices: choices.fork(),
    clock: new HistoryClock(choices.fork()),
    report,
    trace: (text) => trace(scheduler.now, 'postgres', text),
  }
  const layers = new TableHistory(LAYERS, context)
  let current = 'the start'
  const run = async () => {
    for (const { store } of processes) await store.open()
    for (let step = 0; step < STEPS; step++) {
      context.clock.advance()
      const process = choices.pick(processes)
      if (choices.chance(FAULT_SHARE))
        fault = {
          kind: choices.pick(['not_executed', 'lost_reply', 'slow'] as const),
          requestsLeft: 1 + choices.below(MAX_REQUESTS),
        }
      current = `step ${step} in ${process.name}, ${fault?.kind ?? 'no fault'}`
      context.trace(current)
      await layers.step(process)
      fault = undefined
      await layers.resolve(process)
      if (violation !== undefined) throw new HistoryStop()
    }
    for (const { store } of processes) await store.close()
  }
  await runHistory({
    scheduler,
    endMs: END_MS,
    store: 'PostgreSQL',
    run,
    describeStep: () => current,
    report,
  })
  return violation
}
