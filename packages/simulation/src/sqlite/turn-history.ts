import { type DeadLetter, SCHEMA } from '@holdfast/records'
import type { Store } from '../../../store/src/store.js'
import { Scheduler } from '../engine/scheduler.js'
import { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import { JOURNAL_KINDS, journalOf, planRecord } from '../store-history/journal-kinds.js'
import { runHistory } from '../store-history/run-history.js'
import { SqliteMachine } from './history-machine.js'
import { loadRealDriver } from './simulated-database.js'

/** How many turns a history has. */
const TURNS = 16

/** The time of all records. */
const NOW = Date.UTC(2026, 0, 10, 12)

/** Longer than the history needs. */
const END_MS = 1e7

const createLetter = (number: number): DeadLetter =>
  ({
    schema: SCHEMA,
    dlqId: `dlq-${number}`,
    itemId: `item-${number}`,
    operationType: 'mail',
    status: 'pending',
    originalPayload: { number },
    errorDetails: { errorType: 'Error', errorMessage: 'down', stackTrace: '', retryCount: 0 },
    createdAt: new Date(NOW),
    lastAttempt: new Date(NOW),
    replayedAt: null,
    processed: false,
    idempotencyKey: `key-${number}`,
    policyId: 'history',
  }) as DeadLetter

/** The changes of one turn of the event loop. None of them is awaited. */
function startChanges(store: Store, choices: Choices, number: number): Promise<unknown>[] {
  const record = planRecord(choices, number, NOW)
  return [
    ...JOURNAL_KINDS.map((kind) => journalOf(store, kind).append([kind.create(record)])),
    store.deadLetters.add([createLetter(number)], { maxEntries: 1000 }),
    store.values.set(`key-${number}`, number),
  ]
}

/** Reads that must see all changes before them. Each returns whether it does. */
const READS: Readonly<Record<string, (store: Store, number: number) => Promise<boolean>>> = {
  'deadLetters.get': async ({ deadLetters }, number) =>
    (await deadLetters.get(`dlq-${number}`, new Date(NOW))) !== undefined,
  'deadLetters.list': async ({ deadLetters }, number) =>
    (await deadLetters.list({ itemId: `item-${number}` }, new Date(NOW))).items.length === 1,
  'deadLetters.lease': async ({ deadLetters }, number) =>
    (await deadLetters.lease(`dlq-${number}`, 'owner', new Date(NOW + 1000), new Date(NOW))).result ===
    'leased',
  'deadLetters.stats': async ({ deadLetters }, number) =>
    (await deadLetters.stats(new Date(NOW))).total === number + 1,
  'values.get': async ({ values }, number) => (await values.get(`key-${number}`)) === number,
  'sessions.get': async ({ sessions }, number) => (await sessions.get(`session-${number}`)) !== undefined,
  ...Object.fromEntries(
    JOURNAL_KINDS.flatMap((kind) => [
      [
        `${kind.name}.count`,
        async (store: Store, number: number) => (await journalOf(store, kind).count()) === number + 1,
      ],
      [
        `${kind.name}.list`,
        async (store: Store, number: number) =>
          (await journalOf(store, kind).list({ limit: 100 })).items.length === number + 1,
      ],
    ]),
  ),
}

/**
 * Makes changes of all parts of a SQLite store in one turn of the event loop, and reads or closes it in the same turn: a read sees all
 * changes before it, and a close completes them. Returns the first promise that was not kept.
 */
export async function runTurnHistory(
  seed: number,
  trace: (at: number, subject: string, text: string) => void = () => {},
): Promise<Violation | undefined> {
  const choices = new Choices(seed ^ 0x7312)
  const scheduler = new Scheduler(choices.fork().random)
  let violation: Violation | undefined
  const report = (found: Violation) => {
    violation ??= found
  }
  const machine = new SqliteMachine(await loadRealDriver(), scheduler, choices.fork(), report)
  let current = 'the start'
  const run = async () => {
    let process = machine.start()
    await machine.run(process, (store) => store.open())
    for (let number = 0; number < TURNS && violation === undefined; number++) {
      const [name, read] = choices.pick(Object.entries(READS))
      const closes = choices.chance(0.25)
      current = `turn ${number}, ${closes ? 'close' : name}`
      trace(scheduler.now, 'sqlite', current)
      const isSeen = await machine.run(process, async (store) => {
        const changes = startChanges(store, choices, number)
        const ended = closes ? store.close() : read(store, number)
        await Promise.all(changes)
        return ended
      })
      if (closes) {
        await machine.checkIdle(process)
        machine.kill(process)
        process = machine.start()
        await machine.run(process, (store) => store.open())
      }
      const isStored = closes ? await machine.run(process, (store) => read(store, number)) : isSeen
      if (isStored.kind !== 'ok' || isStored.value !== true)
        report(
          new Violation(
            'lost',
            `in ${current} of a SQLite store, ${name} does not see the changes before it`,
          ),
        )
    }
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
