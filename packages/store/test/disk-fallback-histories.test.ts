import fc from 'fast-check'
import { HoldfastError } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import type { DeadLetter } from '../../records/src/dead-letter.js'
import { openStore } from '../src/open/open-store.js'
import { DiskFallback } from '../src/postgres/disk-fallback.js'
import { at, letter } from './contract/records.js'
import { tempFolder } from './place.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

/** How the database handles requests. `lost` executes a request and loses the reply. */
const MODES = ['up', 'down', 'read_only', 'disk_full', 'lost'] as const
type Mode = (typeof MODES)[number]

/** A defect of an entry: the database cannot store it, or its insert fails for another reason. */
type Flaw = 'unstorable' | 'raises' | undefined

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('keep' as const),
      count: fc.integer({ min: 1, max: 4 }),
      flaw: fc.constantFrom<Flaw>(undefined, undefined, undefined, 'unstorable', 'raises'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('mode' as const), mode: fc.constantFrom(...MODES) }) },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 3000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('restart' as const), crash: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('finish' as const), n: fc.nat(20) }) },
)

const failure = (code?: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', 'by a test', {
    cause:
      code === undefined
        ? new Error('connection ended')
        : Object.assign(new Error(code), { code, severity: 'ERROR' }),
  })

/** The database, a disk fallback, and the invariants of both. */
class World {
  mode: Mode = 'up'
  readonly flaws = new Map<string, Flaw>()
  /** All acknowledged ids, and those that were completed and purged since. */
  readonly acknowledged = new Set<string>()
  readonly finished = new Set<string>()
  /** The warnings of this process. */
  said: string[] = []
  private clock = fakeClock()
  private spill: DiskFallback
  private count = 0
  private readonly dir: string
  private readonly database: Awaited<ReturnType<typeof openStore>>['deadLetters']

  private constructor(dir: string, database: Awaited<ReturnType<typeof openStore>>['deadLetters']) {
    this.dir = dir
    this.database = database
    this.spill = this.start()
  }

  static async create(): Promise<World> {
    return new World(await tempFolder(), (await openStore('memory')).deadLetters)
  }

  private start(): DiskFallback {
    this.clock = fakeClock()
    this.said = []
    const { said } = this
    return new DiskFallback({
      dir: this.dir,
      databaseName: 'db',
      clock: this.clock,
      warn: (line) => said.push(line),
      target: {
        add: (entries) => this.insert(entries),
        processed: async (ids) => {
          if (this.mode === 'down') throw failure()
          const done = await Promise.all(ids.map((id) => this.database.isProcessed(id)))
          return new Set(ids.filter((_, i) => done[i]))
        },
        lastDeletedCompletion: async () => undefined,
        alias: () => Promise.reject(new Error('there are no two entries with one key here')),
      },
    })
  }

  private async insert(entries: readonly DeadLetter[]) {
    if (this.mode === 'down') throw failure()
    if (this.mode === 'read_only') throw failure('25006')
    if (this.mode === 'disk_full') throw failure('53100')
    if (entries.some(({ dlqId }) => this.flaws.get(dlqId) === 'raises')) throw failure('P0001')
    const sound = entries.filter(({ dlqId }) => this.flaws.get(dlqId) !== 'unstorable')
    const added = await this.database.add(sound, NO_LIMIT)
    if (this.mode === 'lost') throw failure()
    return entries.map((entry) =>
      this.flaws.get(entry.dlqId) === 'unstorable'
        ? { result: 'rejected' as const, error: failure('22021') }
        : (added.shift() as (typeof added)[number]),
    )
  }

  async keep(count: number, flaw: Flaw): Promise<void> {
    const entries = Array.from({ length: count }, () => letter(this.count++))
    for (const { dlqId } of entries) this.flaws.set(dlqId, flaw)
    const kept = await this.spill.add(entries, NO_LIMIT)
    expect(kept.map(({ result }) => result)).toEqual(entries.map(() => 'added'))
    for (const { dlqId } of entries) this.acknowledged.add(dlqId)
  }

  async wait(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 125) {
      await this.clock.advance(Math.min(left, 125))
      await this.spill.whenIdle()
    }
  }

  async restart(crash: boolean): Promise<void> {
    // After a crash the old instance stays as it is, with a stopped clock.
    if (!crash) await this.spill.close()
    this.spill = this.start()
    this.spill.resume()
    await this.wait(1)
  }

  /** Completes and purges an entry. */
  async finish(n: number): Promise<void> {
    const id = `dlq_${n}`
    if ((await this.database.complete(id, at(5))) === undefined) return
    await this.database.purge({ ids: [id] }, at(6))
    this.finished.add(id)
  }

  async stored(): Promise<string[]> {
    return (await this.database.list({ limit: 1000 }, at(9))).items.map(({ dlqId }) => dlqId)
  }

  spilled(id: string): Promise<DeadLetter | undefined> {
    return this.spill.get(id)
  }

  /** No acknowledged entry is lost, and none is stored twice or again after it was purged. */
  async check(): Promise<void> {
    const stored = await this.stored()
    expect(new Set(stored).size).toBe(stored.length)
    for (const id of stored) {
      expect(this.acknowledged).toContain(id)
      expect(this.finished).not.toContain(id)
    }
    for (const id of this.acknowledged)
      if (!stored.includes(id) && !this.finished.has(id)) expect(await this.spilled(id)).toBeDefined()
    const reported = this.said.filter((line) => line.includes('stays in'))
    expect(new Set(reported).size).toBe(reported.length)
  }

  async end(): Promise<void> {
    await this.spill.close()
  }
}

it('a disk fallback loses no entry and moves all within 5 seconds after recovery, in generated histories', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 16 }), async (steps) => {
      const world = await World.create()
      for (const does of steps) {
        if (does.op === 'keep') await world.keep(does.count, does.flaw)
        else if (does.op === 'mode') world.mode = does.mode
        else if (does.op === 'wait') await world.wait(does.ms)
        else if (does.op === 'restart') await world.restart(does.crash)
        else await world.finish(does.n)
        await world.check()
      }
      const open = () => [...world.acknowledged].filter((id) => !world.finished.has(id))
      world.mode = 'up'
      for (const [id, flaw] of world.flaws) if (flaw === 'raises') world.flaws.set(id, undefined)
      await world.wait(5000)
      await world.check()
      const stored = await world.stored()
      for (const id of open())
        if (world.flaws.get(id) === undefined) expect(stored, `${id} was not moved`).toContain(id)
        else expect(await world.spilled(id), `${id} is lost`).toBeDefined()
      // The next process retries entries that the database could not store.
      world.flaws.clear()
      await world.restart(false)
      await world.wait(5000)
      expect((await world.stored()).toSorted()).toEqual(open().toSorted())
      for (const id of world.acknowledged) expect(await world.spilled(id)).toBeUndefined()
      await world.end()
    }),
    { numRuns: 25 },
  )
})
