import type { Store } from '@holdfast/store'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../store/src/memory/index.js'
import { Choices } from '../src/engine/seeded-random.js'
import { HistoryClock } from '../src/store-history/history-clock.js'
import type { HistoryContext, HistoryPart } from '../src/store-history/history-part.js'
import { JournalHistory } from '../src/store-history/journal-history.js'
import { JOURNAL_KINDS, type JournalKind } from '../src/store-history/journal-kinds.js'
import type { Outcome, StoreProcess } from '../src/store-history/store-machine.js'
import { type RowChange, TableHistory, type TableKind } from '../src/store-history/table-history.js'

const createProcess = (name: string, store: Store): StoreProcess => ({
  name,
  store,
  isAlive: true,
  fault: undefined,
  operationCount: 0,
})

/** Runs steps of a part until it reports a violation. Returns its message. */
async function findViolation(
  createPart: (context: HistoryContext) => HistoryPart,
  machine: HistoryContext['machine'],
  process: StoreProcess,
): Promise<string> {
  const choices = new Choices(1)
  const clock = new HistoryClock(choices.fork())
  let found = ''
  const report = ({ message }: Error) => {
    found ||= message
  }
  const part = createPart({ machine, choices, clock, report, trace: () => {} })
  for (let step = 0; step < 300 && found === ''; step++) {
    clock.advance()
    await part.step(process)
    await part.resolve(process)
  }
  return found
}

describe('changes of a table that two processes make at the same time', () => {
  /** Changes that set two rows to the same number, and return their old numbers. */
  const findRace = (set: (rows: Map<string, number>, number: number) => Promise<unknown>) => {
    const rows = new Map<string, number>()
    let count = 0
    const planChange = (): RowChange => {
      const number = ++count
      return {
        what: `set to ${number}`,
        apply: (before) => ({
          rows: new Map([
            ['a', number],
            ['b', number],
          ]),
          result: before.get('a'),
        }),
        call: () => set(rows, number),
      }
    }
    const kind: TableKind = {
      name: 'pairs',
      planChange,
      planRead: (_context, expected) => ({
        what: 'read',
        result: expected.get('b'),
        call: async () => rows.get('b'),
      }),
      load: async () => rows,
    }
    const store = memoryStore()
    const [process, other] = [createProcess('p1', store), createProcess('p2', store)] as const
    const run = async <T>(
      _process: StoreProcess,
      work: (store: Store) => Promise<T>,
    ): Promise<Outcome<T>> => ({
      kind: 'ok',
      value: await work(store),
    })
    return findViolation(
      (context) => new TableHistory(kind, context),
      { run, running: [process, other] },
      process,
    )
  }

  it('can have either order', async () => {
    const set = async (rows: Map<string, number>, number: number) => {
      const before = rows.get('a')
      rows.set('a', number).set('b', number)
      return before
    }
    expect(await findRace(set)).toBe('')
  })

  it('are reported if their results fit no order', async () => {
    const set = async (rows: Map<string, number>, number: number) => {
      const before = rows.get('a')
      await Promise.resolve()
      rows.set('a', number).set('b', number)
      return before
    }
    expect(await findRace(set)).toMatch(/returned \S+ for set to 2 and at the same time set to 3, expected/)
  })

  it('are reported if the rows are those of neither order', async () => {
    let turns = 0
    const set = async (rows: Map<string, number>, number: number) => {
      const before = rows.get('a')
      rows.set('a', number)
      // The first of two changes sets its second row last.
      for (let turn = turns++ % 2 === 0 ? 4 : 1; turn > 0; turn--) await Promise.resolve()
      rows.set('b', number)
      return before
    }
    expect(await findRace(set)).toMatch(/has \S+ after set to \d+ and at the same time set to \d+, expected/)
  })
})

describe('an append of a journal that fails', () => {
  const SESSIONS = JOURNAL_KINDS.find(({ name }) => name === 'sessions') as JournalKind

  const TRANSACTION_SIZE = 512

  /** Appends fail after some of their records were stored: of those with more than one transaction, as many as a function says. */
  const findFailed = (countStored: (records: number) => number) => {
    const store = memoryStore()
    const append = store.sessions.append.bind(store.sessions)
    store.sessions.append = async (records) => {
      const { length } = records
      await append(records.slice(0, length > TRANSACTION_SIZE ? countStored(length) : 0))
      throw new Error('the disk failed')
    }
    const run = async <T>(_process: StoreProcess, work: (store: Store) => Promise<T>): Promise<Outcome<T>> =>
      work(store).then(
        (value) => ({ kind: 'ok', value }),
        (error: unknown) => ({ kind: 'failed', error }),
      )
    const machine = { run, transactionSize: TRANSACTION_SIZE }
    return findViolation(
      (context) => new JournalHistory(SESSIONS, context),
      machine,
      createProcess('p1', store),
    )
  }

  it('can have stored one of its transactions', async () => {
    expect(await findFailed(() => 512)).toBe('')
  })

  it('is reported if it has stored a part of a transaction', async () => {
    expect(await findFailed(() => 511)).toMatch(
      /an append of \d+ records failed, and the journal has 511 of them/,
    )
  })

  it('is reported if it has stored all of its transactions', async () => {
    expect(await findFailed((records) => records)).toMatch(
      /an append of (\d+) records failed, and the journal has \1 of them/,
    )
  })
})

it('a deletion whose count is uncertain must have deleted the rows', async () => {
  const stored = new Map<string, number>()
  const kind: TableKind = {
    name: 'rows',
    planChange: (_context, { size }) => ({
      what: size === 0 ? 'insert' : 'deletion',
      apply: () => ({ rows: new Map([['a', size === 0 ? 1 : undefined]]), result: size }),
      call: async () => {
        if (size === 0) stored.set('a', 1)
        return 0
      },
    }),
    planRead: (_context, expected) => ({
      what: 'read',
      result: expected.size,
      call: async () => stored.size,
    }),
    load: async () => stored,
  }
  const store = memoryStore()
  const run = async <T>(_process: StoreProcess, work: (store: Store) => Promise<T>): Promise<Outcome<T>> => ({
    kind: 'ok',
    value: await work(store),
    isCountUncertain: true,
  })
  const createPart = (context: HistoryContext) => new TableHistory(kind, context)
  expect(await findViolation(createPart, { run }, createProcess('p1', store))).toContain(
    'the store returned 1 for read, expected 0',
  )
})
