import {
  appendFileSync,
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { DeadLetter } from '../../records/src/dead-letter.js'
import { Disk, type FileLock } from '../src/files/disk.js'
import type { FileSystem, OpenFile } from '../src/files/file-system.js'
import { filesStore } from '../src/files/index.js'
import type { Store } from '../src/store.js'
import { at, errorRecord, event, letter } from './contract/records.js'
import { makeFolder } from './place.js'

const RUNS = 100
const DAY_SECONDS = 86_400

/** Runs a file operation at a moment that the scheduler of a test chooses. */
type Defer = <A extends unknown[], R>(operation: (...args: A) => R) => (...args: A) => Promise<R>

function openFile(file: number, defer: Defer): OpenFile {
  return {
    read: defer((buffer, offset, length, position) => ({
      bytesRead: readSync(file, buffer, offset, length, position),
    })),
    write: defer((bytes, offset, length, position) => ({
      bytesWritten: writeSync(file, bytes, offset, length, position),
    })),
    stat: defer(() => fstatSync(file)),
    truncate: defer((size) => ftruncateSync(file, size)),
    sync: async () => {},
    datasync: async () => {},
    close: async () => closeSync(file),
  }
}

const fileSystem = (defer: Defer): FileSystem => ({
  open: defer((path, flags, mode) => openFile(openSync(path, flags, mode), defer)),
  appendFile: defer((path, text, options) => appendFileSync(path, text, options)),
  readFile: defer((path) => readFileSync(path)),
  truncate: defer((path, size) => truncateSync(path, size)),
  rename: defer((from, to) => renameSync(from, to)),
  rm: defer((path, options) => rmSync(path, options)),
  mkdir: defer((path, options) => mkdirSync(path, options)),
  readdir: defer((path, options) => readdirSync(path, options)),
  stat: defer((path) => statSync(path)),
  statfs: defer((path) => statfsSync(path)),
})

/** A disk whose operations end in the order that a scheduler chooses, and whose locks are those of one process. */
class ScheduledDisk extends Disk {
  constructor(scheduler: fc.Scheduler) {
    super(
      fileSystem((operation) => async (...args) => {
        await scheduler.schedule(Promise.resolve())
        return operation(...args)
      }),
    )
  }

  override createLock(): FileLock {
    let last: Promise<unknown> = Promise.resolve()
    return {
      runExclusive(work) {
        const run = last.then(work)
        last = run.catch(() => {})
        return run
      },
      verify: () => {},
      close: async () => {},
    }
  }

  override async compress(content: Buffer): Promise<Buffer> {
    return gzipSync(content)
  }

  override async decompress(content: Buffer): Promise<Buffer> {
    return gunzipSync(content)
  }
}

/** Calls of a store with the same effect on a plain state, which return what the calls return. */
interface Step<S> {
  call(store: Store): Promise<unknown>
  model(state: S): unknown
}

/** All orders of some values. */
function* permutations<T>(values: readonly T[]): Generator<T[]> {
  if (values.length === 0) yield []
  for (const [i, value] of values.entries())
    for (const rest of permutations(values.toSpliced(i, 1))) yield [value, ...rest]
}

/** Whether a model returns these results, and ends in this state, if it runs the steps in some order. */
const isExplainable = <S>(
  steps: readonly Step<S>[],
  results: readonly unknown[],
  before: S,
  after: S,
): boolean =>
  [...permutations(steps.map((step, i) => ({ step, result: results[i] })))].some((order) => {
    const state = structuredClone(before)
    return (
      order.every(({ step, result }) => JSON.stringify(step.model(state)) === JSON.stringify(result)) &&
      JSON.stringify(state) === JSON.stringify(after)
    )
  })

/** Runs rounds of overlapping calls, and compares each round with a model that runs them one after the other. */
async function compareWithModel<S>(
  scheduler: fc.Scheduler,
  rounds: readonly (readonly Step<S>[])[],
  initial: S,
  readState: (store: Store) => Promise<S>,
): Promise<void> {
  const dir = await makeFolder()
  const warnings: string[] = []
  const open = async () => {
    const store = filesStore(dir, {
      disk: new ScheduledDisk(scheduler),
      warn: (line) => void warnings.push(line),
    })
    await scheduler.waitFor(store.open())
    return store
  }
  try {
    const store = await open()
    let before = initial
    for (const steps of rounds) {
      const results = await scheduler.waitFor(Promise.all(steps.map((step) => step.call(store))))
      const after = await scheduler.waitFor(readState(store))
      expect({ results, before, after }).toSatisfy(() => isExplainable(steps, results, before, after))
      before = after
    }
    await scheduler.waitFor(store.close())
    const reopened = await open()
    expect(await scheduler.waitFor(readState(reopened))).toEqual(before)
    await scheduler.waitFor(reopened.close())
    expect(warnings).toEqual([])
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** A call of a journal. An append has the days between a record and the one before it. */
const journalCall = fc.oneof(
  fc.record({
    op: fc.constant('append' as const),
    days: fc.array(fc.nat(2), { minLength: 1, maxLength: 3 }),
  }),
  fc.constant({ op: 'count' as const }),
  fc.record({ op: fc.constant('expireOlder' as const), day: fc.nat(8) }),
  fc.record({ op: fc.constant('expireSurplus' as const), maxEntries: fc.nat(4) }),
)

const JOURNALS = {
  events: (store: Store, seconds: readonly number[]) =>
    store.events.append(seconds.map((second) => event(second, { timestamp: at(second) }))),
  errors: (store: Store, seconds: readonly number[]) =>
    store.errors.append(
      seconds.map((second) =>
        errorRecord(second, { timestamp: at(second), severity: second % 2 === 0 ? 'ERROR' : 'WARNING' }),
      ),
    ),
}

it.each(['events', 'errors'] as const)(
  'returns the results of some order of overlapping calls of the journal of %s',
  async (name) => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.array(journalCall, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
        async (scheduler, rounds) => {
          let [second, day] = [0, 0]
          const steps = rounds.map((calls) =>
            calls.map((call): Step<number[]> => {
              if (call.op === 'count')
                return { call: (store) => store[name].count(), model: (state) => state.length }
              if (call.op === 'append') {
                const seconds = call.days.map((days) => (day += days) * DAY_SECONDS + ++second)
                return {
                  call: (store) => JOURNALS[name](store, seconds),
                  model: (state) => void state.push(...seconds),
                }
              }
              if (call.op === 'expireSurplus') {
                const { maxEntries } = call
                return {
                  call: (store) => store[name].expire({ maxEntries }),
                  model: (state) => state.splice(0, Math.max(0, state.length - maxEntries)).length,
                }
              }
              const limit = call.day * DAY_SECONDS
              return {
                call: (store) => store[name].expire({ before: at(limit) }),
                model: (state) => state.splice(0, state.filter((time) => time < limit).length).length,
              }
            }),
          )
          await compareWithModel(scheduler, steps, [], async (store) => {
            const { items } = await store[name].list({ order: 'oldest' })
            return items.map(({ timestamp }) => (timestamp.getTime() - at(0).getTime()) / 1000)
          })
        },
      ),
      { numRuns: RUNS },
    )
  },
)

/** A call of the queue for one of two entries, whose payload is the number of the call. */
const queueCall = fc.record({
  op: fc.constantFrom('add', 'add', 'purge', 'complete', 'count', 'get'),
  id: fc.constantFrom('dlq_1', 'dlq_2'),
  operation: fc.constantFrom('mail', 'search'),
})

/** Entries by id, in the order of insertion. */
type QueueState = [id: string, operation: string, status: string, payload: unknown][]

const toQueueState = (entries: readonly DeadLetter[]): QueueState =>
  entries.map(({ dlqId, operationType, status, originalPayload }) => [
    dlqId,
    operationType,
    status,
    originalPayload,
  ])

it('returns the results of some order of overlapping calls of the dead letter queue', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.array(queueCall, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
      async (scheduler, rounds) => {
        let payload = 0
        const steps = rounds.map((calls) =>
          calls.map(({ op, id, operation }): Step<QueueState> => {
            const find = (state: QueueState) => state.find((row) => row[0] === id)
            if (op === 'count')
              return {
                call: async ({ deadLetters }) => (await deadLetters.stats(at(9))).total,
                model: (state) => state.length,
              }
            if (op === 'get')
              return {
                call: async ({ deadLetters }) => (await deadLetters.get(id, at(9)))?.originalPayload,
                model: (state) => find(state)?.[3],
              }
            if (op === 'purge')
              return {
                call: ({ deadLetters }) => deadLetters.purge({ ids: [id] }, at(9)),
                model: (state) =>
                  state.splice(0, state.length, ...state.filter((row) => row[0] !== id)).length -
                  state.length,
              }
            if (op === 'complete')
              return {
                call: async ({ deadLetters }) => (await deadLetters.complete(id, at(9)))?.status,
                model(state) {
                  const row = find(state)
                  if (row !== undefined) row[2] = 'completed'
                  return row?.[2]
                },
              }
            const added = ++payload
            const entry = letter(1, {
              dlqId: id,
              idempotencyKey: id,
              operationType: operation,
              originalPayload: added,
            })
            return {
              call: async ({ deadLetters }) => (await deadLetters.add([entry], { maxEntries: 9 }))[0]?.result,
              model(state) {
                if (find(state) !== undefined) return 'conflict'
                state.push([id, operation, 'pending', added])
                return 'added'
              },
            }
          }),
        )
        await compareWithModel<QueueState>(scheduler, steps, [], async ({ deadLetters }) =>
          toQueueState((await deadLetters.list({}, at(9))).items),
        )
      },
    ),
    { numRuns: RUNS },
  )
})

/** A call for live changes. Each append expects the version of the one before it. */
const layerCall = fc.oneof(
  fc.constant({ op: 'append' as const }),
  fc.constant({ op: 'latest' as const }),
  fc.record({ op: fc.constant('expire' as const), maxEntries: fc.integer({ min: 1, max: 2 }) }),
  fc.record({ op: fc.constant('rewrite' as const), version: fc.integer({ min: 1, max: 6 }) }),
)

/** The versions with their layers, oldest first. */
type LayerState = [version: number, layer: unknown][]

it('returns the results of some order of overlapping calls for live changes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.array(layerCall, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
      async (scheduler, rounds) => {
        let [layer, versions] = [0, 0]
        const steps = rounds.map((calls) =>
          calls.map((call): Step<LayerState> => {
            if (call.op === 'latest')
              return {
                call: async ({ layers }) => (await layers.latest())?.layer,
                model: (state) => state.at(-1)?.[1],
              }
            if (call.op === 'expire')
              return {
                call: ({ layers }) => layers.expire(call.maxEntries),
                model: (state) => state.splice(0, Math.max(0, state.length - call.maxEntries)).length,
              }
            const written = ++layer
            if (call.op === 'rewrite')
              return {
                call: ({ layers }) => layers.rewrite(call.version, written),
                model(state) {
                  const row = state.find(([version]) => version === call.version)
                  if (row !== undefined) row[1] = written
                },
              }
            const after = versions++
            const version = { version: versions, by: 'me', at: at(1), layer: written }
            return {
              call: ({ layers }) => layers.append(version, after),
              model(state) {
                if ((state.at(-1)?.[0] ?? 0) !== after) return false
                state.push([version.version, written])
                return true
              },
            }
          }),
        )
        await compareWithModel<LayerState>(scheduler, steps, [], async ({ layers }) =>
          (await layers.history()).reverse().map(({ version, layer: stored }) => [version, stored]),
        )
      },
    ),
    { numRuns: RUNS },
  )
})
