import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { DeadLetter } from '@holdfast/records'
import { createUnavailableError, type Disk } from './disk.js'
import { toPathSegment } from './paths.js'

/** The path of an entry's file, relative to the folder of the queue. */
export interface EntryPath {
  readonly folder: string
  readonly name: string
}

/** The folders and paths that exist or are reserved. */
interface ReservedPaths {
  readonly disk: Disk
  readonly root: string
  /** The known folders with their modification times. */
  readonly folders: Map<string, number>
  /** Reserved paths that are not written yet, in lower case. */
  readonly taken: Set<string>
  /** Whether a file could not be read. */
  isUnreadable(path: EntryPath): boolean
}

/**
 * Reserves a path that no other entry has, even if another id differs only in case or in characters that paths cannot contain.
 * The caller holds the lock and knows all existing folders.
 *
 * @throws STORE_UNAVAILABLE if the path has a file that cannot be read, because that may be an entry with this id
 */
export async function reservePath(
  { dlqId, operationType }: DeadLetter,
  occupied: ReservedPaths,
): Promise<EntryPath> {
  const { disk, root, taken } = occupied
  const folder = await folderOfOperation(operationType, occupied)
  const part = toPathSegment(dlqId)
  for (let name = `${part}.json`; ; name = `${part}~${randomUUID()}.json`) {
    const folded = `${folder}/${name}`.toLowerCase()
    const path = join(root, folder, name)
    if (occupied.isUnreadable({ folder, name }))
      throw createUnavailableError(path, new Error('it may be an entry with the same id and cannot be read'))
    if (taken.has(folded) || (await disk.stamp(path)) !== undefined) continue
    taken.add(folded)
    return { folder, name }
  }
}

/** The folder of an operation, created if it is missing. Similar operations can share one, because entries contain theirs. */
async function folderOfOperation(operation: string, { disk, root, folders }: ReservedPaths): Promise<string> {
  const folder = toPathSegment(operation)
  if (folders.has(folder)) return folder
  if ((await disk.stamp(join(root, folder))) !== undefined) {
    // The folder exists under another name: the file system is not case-sensitive.
    const known = [...folders.keys()].find((name) => name.toLowerCase() === folder.toLowerCase())
    if (known !== undefined) return known
  }
  await disk.makeFolder(join(root, folder))
  // Its modification time is stored after the entry has been written.
  folders.set(folder, Number.NaN)
  return folder
}
