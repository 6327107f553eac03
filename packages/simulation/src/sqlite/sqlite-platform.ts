import { deflateRawSync } from 'node:zlib'
import type { Clock } from 'holdfast'
import type { SqlitePlatform } from '../../../store/src/sqlite/platform.js'
import type { ConnectionLife } from './connection-life.js'
import type { SimulatedDatabase } from './simulated-database.js'

const FREE_BYTES = 4 * 2 ** 30

/** The platform of a process or thread: virtual time, which statements take some of, and the file of its machine. */
export function createSqlitePlatform(
  database: SimulatedDatabase,
  life: ConnectionLife,
  clock: Clock,
): SqlitePlatform {
  const busyClock: Clock = {
    now: () => clock.now() + life.busyMs,
    wall: () => clock.wall(),
    setTimer: (fn, ms) =>
      clock.setTimer(() => {
        if (life.isAlive) fn()
      }, ms),
    clearTimer: (handle) => clock.clearTimer(handle),
  }
  return {
    clock: busyClock,
    runInNextTurn: (fn) => void busyClock.setTimer(fn, 0),
    openDriver: async () => life.connect(),
    stat: (file) => database.stat(file),
    createPrivateFile: () => {
      if (life.isAlive) database.createFile()
    },
    readFreeSpace: async () => FREE_BYTES,
    deflate: async (text) => deflateRawSync(text),
  }
}
