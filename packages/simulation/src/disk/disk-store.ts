import { DEAD_LETTER_METHODS } from '../../../store/src/dead-letter-store.js'
import { Disk, type FileLock } from '../../../store/src/files/disk.js'
import { filesStore } from '../../../store/src/files/index.js'
import type { Store } from '../../../store/src/store.js'
import type { ProcessFileSystem } from './process-file-system.js'

/** The folder of the store on the disk of a node. */
export const STORE_FOLDER = '/store'

/** The folder of the disk fallback of a store in PostgreSQL. */
const FALLBACK_FOLDER = '/fallback'

/** A lock of the only process on a machine. Lock files need the identities of real processes; they have tests of their own. */
function createSerialLock(): FileLock {
  let queue: Promise<unknown> = Promise.resolve()
  return {
    runExclusive(work) {
      const run = queue.then(work)
      queue = run.catch(() => {})
      return run
    },
    verify: () => {},
    close: async () => void (await queue),
  }
}

class StoreDisk extends Disk {
  private readonly processFiles: ProcessFileSystem

  constructor(fs: ProcessFileSystem) {
    super(fs)
    this.processFiles = fs
  }

  /** Ids of the operating system differ in each run of a seed, and appear in messages. */
  override createId(): string {
    return this.processFiles.createId()
  }

  override createLock(): FileLock {
    return createSerialLock()
  }
}

/** What happens in the store of a process. */
export interface DiskStoreObserver {
  /** A method of the queue is called, and has resolved. */
  onCalled(method: string, args: readonly unknown[]): void
  onResolved(method: string, args: readonly unknown[], result: unknown): void
  /** The store reports damage. */
  onWarning(line: string): void
}

/** Creates the files of a disk fallback on a simulated disk. */
export const createFallbackStore = (fs: ProcessFileSystem, warn: (line: string) => void): Store =>
  filesStore(FALLBACK_FOLDER, { disk: new StoreDisk(fs), warn })

/** Creates a files store on a simulated disk. */
export function createDiskStore(fs: ProcessFileSystem, observer: DiskStoreObserver): Store {
  const store = filesStore(STORE_FOLDER, {
    disk: new StoreDisk(fs),
    warn: (line) => observer.onWarning(line),
  })
  const queue = store.deadLetters as unknown as Record<
    string,
    (...args: readonly unknown[]) => Promise<unknown>
  >
  for (const method of ['add', ...DEAD_LETTER_METHODS]) {
    const run = queue[method]?.bind(queue)
    queue[method] = async (...args) => {
      observer.onCalled(method, args)
      const result = await run?.(...args)
      observer.onResolved(method, args, result)
      return result
    }
  }
  return store
}
