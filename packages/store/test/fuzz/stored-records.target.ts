import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { filesStore } from '../../src/files/index.js'
import { openSqliteDriver, type SqliteDriver } from '../../src/sqlite/driver.js'
import { openSqlite } from '../../src/sqlite/index.js'
import type { Store } from '../../src/store.js'
import { at, event, letter, session, storedBreaker } from '../contract/records.js'

/** In memory if possible, because cases would wait for flushes of a disk. */
const ROOT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** How many records of each kind there are. One of one kind is damaged. */
const COUNT = 4

/** The columns of SQLite that a case damages: the table, the column and the key of the row. */
const COLUMNS = [
  ['dead_letters', 'entry', 'seq', 2],
  ['dead_letters', 'original_payload', 'seq', 2],
  ['sessions', 'body', 'last', 2],
  ['events', 'body', 'last', 2],
  ['metrics', 'data', 'start', 2000],
  ['named_values', 'value', 'key', 'value:2'],
] as const

async function fill(store: Store): Promise<void> {
  await store.open()
  for (let n = 0; n < COUNT; n++) {
    await store.deadLetters.add([letter(n)], { maxEntries: 1000 })
    await store.sessions.append([session(n)])
    await store.events.append([event(n)])
    await store.breakers.save([storedBreaker(`policy:${n}`)])
    await store.values.set(`value:${n}`, { n })
    await store.metrics.save([{ series: 'minute:total', start: n * 1000, node: 'a', data: { n } }])
  }
}

/** Reads everything, as the API and a restart do. Returns how many records of each kind were found. */
async function readAll(store: Store): Promise<Record<string, number>> {
  const found = {
    deadLetters: (await store.deadLetters.list({}, at(0))).items.length,
    sessions: (await store.sessions.list()).items.length,
    events: (await store.events.list()).items.length,
    breakers: (await store.breakers.load()).length,
    values: (await store.values.list('value:')).length,
    metrics: (await store.metrics.load({ from: 0, to: 1e15 })).length,
  }
  await store.deadLetters.stats(at(0))
  return found
}

/** Fails if more than the damaged record is missing. */
function checkFound(place: string, found: Record<string, number>): void {
  const missing = Object.entries(found).filter(([, count]) => count < COUNT)
  if (missing.some(([, count]) => count < COUNT - 1) || missing.length > 1)
    throw new Error(`${place}: other records are lost: ${JSON.stringify(found)}`)
  if (Object.keys(Object.prototype).length > 0) throw new Error('the prototype of objects has new keys')
}

class DamagedSqlite {
  private readonly store: Store
  private readonly driver: SqliteDriver

  private constructor(store: Store, driver: SqliteDriver) {
    this.store = store
    this.driver = driver
  }

  static async open(folder: string): Promise<DamagedSqlite> {
    const file = join(folder, 'store.db')
    const store = openSqlite(file)
    await fill(store)
    return new DamagedSqlite(store, await openSqliteDriver(file))
  }

  async check(column: number, content: Buffer): Promise<void> {
    const [table, name, key, id] = COLUMNS[column % COLUMNS.length] as (typeof COLUMNS)[number]
    const { driver, store } = this
    const before = driver.prepare(`SELECT ${name} AS v FROM ${table} WHERE ${key} = ?`).get([id])
    if (before === undefined) throw new Error(`no row ${id} of ${table}`)
    const change = driver.prepare(`UPDATE ${table} SET ${name} = ? WHERE ${key} = ?`)
    change.run([column >= 128 ? content : content.toString('utf8'), id])
    try {
      checkFound(`sqlite ${table}.${name}`, await readAll(store))
    } finally {
      change.run([before['v'] as string, id])
    }
  }

  async close(): Promise<void> {
    this.driver.close()
    await this.store.close()
  }
}

class DamagedFiles {
  private readonly folder: string
  private readonly files: readonly string[]

  private constructor(folder: string, files: readonly string[]) {
    this.folder = folder
    this.files = files
  }

  static async open(folder: string): Promise<DamagedFiles> {
    const store = filesStore(folder)
    await fill(store)
    await store.close()
    const files = await readdir(folder, { recursive: true, withFileTypes: true })
    // A table of values is one file, which is replaced as a whole: a damaged one is reported and not read.
    const names = files
      .filter((file) => file.isFile() && /\.jsonl?$/.test(file.name))
      .map((file) => join(file.parentPath, file.name))
      .filter((file) => file.endsWith('.jsonl') || dirname(file) !== folder)
    return new DamagedFiles(folder, names.toSorted())
  }

  /** Damages one file: its last line, or all of it if it is one record. */
  async check(place: number, content: Buffer): Promise<void> {
    const file = this.files[place % this.files.length] as string
    const before = await readFile(file)
    const isLog = file.endsWith('.jsonl')
    const end = isLog ? before.lastIndexOf(10, before.length - 2) + 1 : 0
    const whole = content.filter((byte) => !isLog || byte !== 10)
    await writeFile(file, Buffer.concat([before.subarray(0, end), whole, Buffer.from('\n')]))
    const store = filesStore(this.folder)
    try {
      await store.open()
      const found = await readAll(store)
      checkFound(`files ${file.slice(this.folder.length)}`, found)
    } finally {
      await store.close()
      await rm(join(this.folder, 'dlq', '.damaged'), { recursive: true, force: true })
      await writeFile(file, before)
    }
  }
}

const JSON_PARTS = [
  'null',
  '{}',
  '[]',
  '[[]]',
  '[[null]]',
  '0',
  '"x"',
  '{"dlq_id":',
  '"__proto__":{}',
  ',',
  ':',
  '"',
  '[',
  ']',
  '{',
  '}',
  '1e999',
  '\0',
  '"created_at":',
  '"2026-01-15T12:00:02.000Z"',
  '"status":"pending"',
]

const wire = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.array(fc.constantFrom(...JSON_PARTS), { maxLength: 8 }).map((parts) => parts.join('')),
  fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
)

/** Stored records: damage of one record is limited to it, and reading never fails. */
export const target: FuzzTarget = {
  name: 'stored-records',
  cases: fc
    .tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 255 }), wire)
    .map(([kind, place, text]) => Buffer.concat([Buffer.from([kind, place]), Buffer.from(text, 'latin1')])),
  dictionary: JSON_PARTS,
  async open() {
    const folder = await mkdtemp(join(ROOT, 'holdfast-fuzz-'))
    const sqlite = await DamagedSqlite.open(folder)
    const files = await DamagedFiles.open(join(folder, 'files'))
    const { error } = console
    // A damaged row is reported once for each case.
    console.error = () => {}
    return {
      async check(bytes) {
        const [kind = 0, place = 0] = bytes
        // SQLite is much faster.
        await (kind % 8 === 0 ? files : sqlite).check(place, bytes.subarray(2))
      },
      async close() {
        console.error = error
        await sqlite.close()
        await rm(folder, { recursive: true, force: true })
      },
    }
  },
}
