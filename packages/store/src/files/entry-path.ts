import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { DeadLetter } from '@holdfast/records'
import type { Disk } from './disk.js'
import { toPathSegment } from './paths.js'

/** Where an entry's file lies, below the queue's folder. */
export interface EntryPath {
  readonly folder: string
  readonly name: string
}

/** What is there already. */
interface ReservedPaths {
  readonly disk: Disk
  readonly root: string
  /** The folders that are known, and when they were last changed. */
  readonly folders: Map<string, number>
  /** Files that were given away and are not written yet, in small letters. */
  readonly taken: Set<string>
}

/**
 * A place for a new entry that is nobody else's, though another id may be like its own. Whoever calls it holds the lock, and
 * the folders that are known are those that are there.
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
    if (taken.has(folded) || (await disk.stamp(join(root, folder, name))) !== undefined) continue
    taken.add(folded)
    return { folder, name }
  }
}

/** The folder of an operation, made where there is none. Operations that are alike may share one: entries say theirs. */
async function folderOfOperation(operation: string, { disk, root, folders }: ReservedPaths): Promise<string> {
  const folder = toPathSegment(operation)
  if (folders.has(folder)) return folder
  if ((await disk.stamp(join(root, folder))) !== undefined) {
    // It is there, and not by this name: the file system takes capitals for small letters.
    const known = [...folders.keys()].find((name) => name.toLowerCase() === folder.toLowerCase())
    if (known !== undefined) return known
  }
  await disk.makeFolder(join(root, folder))
  // When it was changed is not known before the entry is written.
  folders.set(folder, Number.NaN)
  return folder
}
