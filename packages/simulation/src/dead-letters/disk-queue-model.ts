import type { DeadLetter } from '@holdfast/records'
import { parseEntry } from '../../../store/src/files/entry-file.js'
import { STORE_FOLDER } from '../disk/disk-store.js'
import { FileNode, FolderNode } from '../disk/inodes.js'
import type { SimulatedDisk } from '../disk/simulated-disk.js'
import { OwnQueueModel, type QueueState } from './own-queue-model.js'
import { isContractId } from './queue-contract.js'

/** The path of the queue on the disk. */
const QUEUE_PATH = [...STORE_FOLDER.split('/').filter((name) => name !== ''), 'dlq']

/** What the operating system has, or what is on the device. */
type NameSource = 'names' | 'durableNames'

const SOURCES = { current: 'names', durable: 'durableNames' } as const satisfies Record<
  QueueState,
  NameSource
>

/** The promises about the dead letters on one disk. */
export class DiskQueueModel extends OwnQueueModel {
  private readonly disk: SimulatedDisk
  private readonly parsedEntries = new WeakMap<Buffer, ReturnType<typeof parseEntry>>()

  constructor(disk: SimulatedDisk) {
    super()
    this.disk = disk
  }

  protected get isDurable(): boolean {
    return !this.disk.isLying
  }

  /** The machine has lost its power. The promises about names that the disk lied about have ended. */
  onPowerLost(liedNames: ReadonlySet<string>): void {
    for (const id of this.entries.keys()) if (liedNames.has(fileNameOf(id))) this.endPromise(id)
  }

  protected read(id: string, state: QueueState): DeadLetter | undefined {
    const source = SOURCES[state]
    for (const folder of this.folders(source)) {
      const file = folder[source].get(fileNameOf(id))
      if (!(file instanceof FileNode)) continue
      const entry = this.parse(source === 'names' ? file.content : file.durable)
      if (entry !== undefined) return entry
    }
    return undefined
  }

  /** The entry in a file. A content is parsed once, because most files do not change between two checks. */
  private parse(content: Buffer): DeadLetter | undefined {
    let parsed = this.parsedEntries.get(content)
    if (parsed === undefined) {
      parsed = parseEntry(content)
      this.parsedEntries.set(content, parsed)
    }
    return 'entry' in parsed ? parsed.entry : undefined
  }

  protected *readAll(): Generator<DeadLetter> {
    for (const folder of this.folders('names'))
      for (const [name, file] of folder.names) {
        if (!name.endsWith('.json') || !(file instanceof FileNode)) continue
        const entry = this.parse(file.content)
        if (entry !== undefined && !isContractId(entry.dlqId)) yield entry
      }
  }

  /** The folders of the operations. */
  private folders(source: NameSource): FolderNode[] {
    let queue: unknown = this.disk.root
    for (const name of QUEUE_PATH) queue = queue instanceof FolderNode ? queue[source].get(name) : undefined
    if (!(queue instanceof FolderNode)) return []
    return [...queue[source]].flatMap(([name, folder]) =>
      folder instanceof FolderNode && !name.startsWith('.') ? folder : [],
    )
  }
}

const fileNameOf = (id: string): string => `${id}.json`
