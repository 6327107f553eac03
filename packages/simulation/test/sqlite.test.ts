import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SqliteQueueModel } from '../src/dead-letters/sqlite-queue-model.js'
import { Choices } from '../src/engine/seeded-random.js'
import { StoredRecordModel } from '../src/invariants/stored-record-model.js'
import { ConnectionLife } from '../src/sqlite/connection-life.js'
import { loadRealDriver, SimulatedDatabase } from '../src/sqlite/simulated-database.js'

let database: SimulatedDatabase
beforeEach(async () => {
  database = new SimulatedDatabase(await loadRealDriver(), new Choices(1))
  database.createFile()
})
afterEach(() => database.remove())

/** Opens a file with a table of dead letters and one of events. */
function openFile(life = new ConnectionLife(database)) {
  const driver = life.connect()
  driver.prepare('PRAGMA journal_mode = WAL').get([])
  driver.exec('PRAGMA wal_autocheckpoint = 1000')
  driver.exec('BEGIN')
  driver.exec('CREATE TABLE IF NOT EXISTS dead_letters (id TEXT)')
  for (const table of ['sessions', 'events', 'errors', 'audit', 'breaker_events'])
    driver.exec(`CREATE TABLE IF NOT EXISTS ${table} (entries, body)`)
  driver.exec('COMMIT')
  const insert = (table: string, sql: string) => {
    driver.prepare('BEGIN IMMEDIATE').run([])
    driver.prepare(`INSERT INTO ${table} ${sql}`).run([])
    driver.prepare('COMMIT').run([])
  }
  return { driver, insert, life }
}

const ids = () =>
  database
    .reader()
    ?.prepare('SELECT id FROM dead_letters')
    .all([])
    .map(({ id }) => id)

describe('a simulated SQLite file', () => {
  it('loses commits that were not flushed when the power fails, and keeps the others', () => {
    const { driver, insert, life } = openFile()
    insert('dead_letters', "VALUES ('flushed')")
    driver.exec('PRAGMA synchronous = NORMAL')
    insert('dead_letters', "VALUES ('not flushed')")
    expect(ids()).toEqual(['flushed', 'not flushed'])
    life.end()
    database.losePower()
    openFile()
    expect(ids()).toEqual(['flushed'])
  })

  it('keeps all commits when a process dies, and rolls an open transaction back', () => {
    const { driver, insert, life } = openFile()
    driver.exec('PRAGMA synchronous = NORMAL')
    insert('dead_letters', "VALUES ('committed')")
    driver.prepare('BEGIN IMMEDIATE').run([])
    driver.prepare("INSERT INTO dead_letters VALUES ('open')").run([])
    life.end()
    expect(() => driver.prepare('COMMIT')).toThrow('ended')
    openFile()
    expect(ids()).toEqual(['committed'])
  })

  it('ends a thread at the commit that was chosen, before or after it', () => {
    for (const isBefore of [true, false]) {
      const { insert, life } = openFile()
      database.crashAtCommit(2, isBefore, () => life.end())
      insert('dead_letters', `VALUES ('first ${isBefore}')`)
      if (isBefore) expect(() => insert('dead_letters', "VALUES ('second true')")).toThrow('ended')
      else insert('dead_letters', "VALUES ('second false')")
    }
    expect(ids()).toEqual(['first true', 'first false', 'second false'])
  })

  it('fails statements with the codes of SQLite while a fault lasts', () => {
    const { insert } = openFile()
    database.beginFault('locked')
    expect(() => insert('dead_letters', "VALUES ('a')")).toThrow(expect.objectContaining({ errcode: 5 }))
    database.endFault('locked')
    insert('dead_letters', "VALUES ('b')")
    expect(ids()).toEqual(['b'])
  })
})

describe('the models of a SQLite file', () => {
  it('report a dead letter that was acknowledged and not flushed, or is not stored', () => {
    const model = new SqliteQueueModel(database)
    const { driver, insert } = openFile()
    driver.exec('PRAGMA synchronous = NORMAL')
    insert('dead_letters', "VALUES ('a')")
    expect(() => model.onAcknowledged('a', {})).toThrow('not flushed')
  })

  it('report an acknowledged record that is missing or stored twice', () => {
    const { insert } = openFile()
    const append = () => {
      const records = new StoredRecordModel(database, () => 0)
      records.onAppend('events', [{ eventId: 'e1' }]).onAcknowledged()
      return records
    }
    expect(() => append().checkAll()).toThrow('has 0 events: expected 1')
    insert('events', `VALUES (1, '[[{"event_id":"e1"}]]')`)
    append().checkAll()
    insert('events', `VALUES (1, '[[{"event_id":"e1"}]]')`)
    expect(() => append().checkAll()).toThrow('has 2 events: expected 1')
  })

  it('report an append that does not end', () => {
    let now = 0
    const records = new StoredRecordModel(database, () => now)
    const [call] = [records.onAppend('events', []), records.onAppend('audit', [])]
    call?.onFailed()
    now = 180_001
    expect(() => records.checkEnded()).toThrow('hangs: an append to audit has not ended in 180001 ms')
  })

  it('accept a record twice if its call was sent again after the thread ended', () => {
    const { insert } = openFile()
    const records = new StoredRecordModel(database, () => 0)
    const call = records.onAppend('events', [{ eventId: 'e1' }])
    records.onThreadEnded()
    for (let count = 0; count < 2; count++) insert('events', `VALUES (1, '[[{"event_id":"e1"}]]')`)
    call.onAcknowledged()
    records.checkAll()
  })
})
