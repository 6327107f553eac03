import type { FallbackFolder } from '../../../store/src/postgres/fallback-folder.js'
import { FallbackModel } from '../dead-letters/fallback-model.js'
import { createFallbackStore } from '../disk/disk-store.js'
import { createProcessFileSystem } from '../disk/process-file-system.js'
import type { SimulatedDisk } from '../disk/simulated-disk.js'
import type { Process } from '../process/simulated-node.js'

/** What a disk fallback reports. */
export interface FallbackObserver {
  /** Runs a check of a promise. */
  check(fn: () => void): void
  onDiskWarning(process: string, line: string): void
  /** Whether PostgreSQL has a dead letter, also under another id. */
  isInDatabase(id: string): boolean
}

/** The disk fallback of a node with PostgreSQL: its disk, and its promise. */
export class NodeFallback {
  readonly disk: SimulatedDisk
  readonly model: FallbackModel
  private readonly observer: FallbackObserver

  constructor(disk: SimulatedDisk, observer: FallbackObserver) {
    this.disk = disk
    this.observer = observer
    this.model = new FallbackModel(
      (id) => observer.isInDatabase(id),
      (id) => disk.hasFile(id),
    )
  }

  /** Creates the folder as a process sees it. `onFinished` is called before the process gets the result of an operation. */
  createFolder(process: Process, onFinished: () => void): FallbackFolder {
    const { disk, model, observer } = this
    const fs = createProcessFileSystem(disk, onFinished)
    process.onKilled.push(() => fs.kill())
    return {
      hasEntries: () => !disk.isEmpty,
      open: async () => {
        const store = createFallbackStore(fs, (line) => observer.onDiskWarning(process.name, line))
        await store.open()
        model.observe(store, process, (fn) => observer.check(fn))
        return store
      },
    }
  }

  /** Checks that something will move the entries of a process. */
  checkScheduled(process: Process | undefined): void {
    if (process?.runtime !== undefined && !this.model.isEmpty)
      this.observer.check(() => this.model.checkScheduled(process))
  }
}
