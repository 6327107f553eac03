import { join } from 'node:path'
import {
  auditCodec,
  breakerEventCodec,
  errorRecordCodec,
  eventCodec,
  SEVERITIES,
  sessionCodec,
} from '@holdfast/records'
import { auditFilter, breakerEventFilter, errorFilter, eventFilter, sessionFilter } from '../filters.js'
import type { Store } from '../store.js'
import { FilesBreakers } from './breakers.js'
import { FilesDeadLetters } from './dead-letters.js'
import { createUnavailableError, Disk, type FileLock } from './disk.js'
import { FilesJournal, FilesSessions } from './journal.js'
import { JsonFile } from './json-file.js'
import { FilesLayers } from './layers.js'
import { FairFileLock } from './lock.js'
import { FilesMetrics } from './metrics.js'
import type { JournalLayout } from './pages.js'
import { FilesValues } from './values.js'

/** Options of a store in files. */
export interface FilesStoreOptions {
  /** Receives warnings, for example about quarantined files. @defaultValue a line on stderr */
  warn?: ((line: string) => void) | undefined
  /** Reads and writes files. Tests pass one that fails. */
  disk?: Disk | undefined
}

/** Creates a store in a folder of readable files, for any number of processes. The folder is created by `open`. */
export function filesStore(dir: string, options: FilesStoreOptions = {}): Store {
  const { disk = new Disk(), warn = (line) => console.error(`holdfast: ${line}`) } = options
  const locks = new Map<string, FileLock>()
  /** A lock, and a disk whose writes are fenced by it. */
  const locked = (name: string): [disk: Disk, lock: FileLock] => {
    const path = join(dir, '.locks', name)
    const lock = disk.createLock(path) ?? new FairFileLock(path)
    locks.set(name, lock)
    return [disk.fencedBy(lock), lock]
  }
  const plain = (name: string) => ({
    folders: [join(dir, name)],
    folderOf: () => 0,
    onlyFolder: () => undefined,
    prefix: name,
    timeField: 'timestamp',
  })
  const journal = <T, F extends object>(
    name: string,
    layout: Pick<JournalLayout<T, F>, 'recordFilter' | 'codec'>,
  ) => new FilesJournal<T, F>(...locked(name), { ...plain(name), ...layout })

  const sessions = new FilesSessions(...locked('sessions'), {
    ...plain('sessions'),
    timeField: 'start_time',
    recordFilter: sessionFilter,
    codec: sessionCodec,
  })
  const events = journal('events', { recordFilter: eventFilter, codec: eventCodec })
  const errors = new FilesJournal(...locked('errors'), {
    recordFilter: errorFilter,
    codec: errorRecordCodec,
    timeField: 'timestamp',
    folders: SEVERITIES.map((severity) => join(dir, 'logs', severity)),
    folderOf: ({ severity }) => SEVERITIES.indexOf(severity),
    onlyFolder: ({ severity }) =>
      severity === undefined ? undefined : SEVERITIES.indexOf(severity as 'ERROR'),
    prefix: 'errors',
  })
  const audit = journal('audit', { recordFilter: auditFilter, codec: auditCodec })
  const breakerEvents = journal('breaker_events', {
    recordFilter: breakerEventFilter,
    codec: breakerEventCodec,
  })
  const journals = [sessions, events, errors, audit, breakerEvents]

  // A power failure on a disk that lies about flushes can damage the file, and a runtime must start nevertheless.
  const breakers = new JsonFile(...locked('breakers'), join(dir, 'breakers.json'), (path) =>
    warn(`${path} is not valid JSON; its breakers start closed, and the next change replaces it`),
  )
  const values = new JsonFile(...locked('values'), join(dir, 'values.json'))
  const metrics = new FilesMetrics(...locked('metrics'), join(dir, 'metrics'))
  const deadLetters = new FilesDeadLetters(...locked('dead_letters'), join(dir, 'dlq'), warn)
  const parts = [...journals, breakers, values, metrics, deadLetters]

  return {
    kind: 'files',
    sessions,
    events,
    errors,
    audit,
    breakerEvents,
    breakers: new FilesBreakers(breakers),
    metrics,
    layers: new FilesLayers(...locked('layers'), join(dir, 'layers')),
    deadLetters,
    values: new FilesValues(values),
    async open() {
      try {
        for (const folder of ['.locks', 'metrics', 'layers']) await disk.makeFolder(join(dir, folder))
        for (const each of journals) await each.open()
        await deadLetters.open()
      } catch (error) {
        throw createUnavailableError(dir, error)
      }
    },
    async close() {
      await Promise.all(parts.map((part) => part.whenIdle()))
      await Promise.all([...locks.values()].map((each) => each.close()))
    },
    async freeSpace() {
      const { bavail, bsize } = await disk.fs.statfs(dir)
      return bavail * bsize
    },
  }
}
