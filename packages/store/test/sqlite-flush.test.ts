import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { SqliteConnection } from '../src/sqlite/connection.js'
import { tempFolder } from './place.js'

/** The values of `PRAGMA synchronous`. */
const FULL = 2
const NORMAL = 1

it('flushes every durable commit, also after commits that need no flush', async () => {
  const connection = await SqliteConnection.open(join(await tempFolder(), 'h.db'), undefined)
  onTestFinished(() => connection.close())
  const write = (isDurable: boolean) =>
    connection.write(() => connection.get<{ synchronous: number }>('PRAGMA synchronous'), isDurable)
  for (const isDurable of [true, false, true, true, false, false, true])
    expect(write(isDurable)?.synchronous).toBe(isDurable ? FULL : NORMAL)
})
