import { dirname } from 'node:path'
import { createUnavailableError, type Disk, type FileLock, parseJson } from './disk.js'
import { SerialQueue } from './serial-queue.js'

type TableChange = (table: Map<string, unknown>) => void

/**
 * A small table of values by key in one JSON file, which is written as a whole. With `onDamaged`, a file that is not valid counts as
 * empty, and the next change replaces it.
 */
export class JsonFile {
  private readonly queue: SerialQueue<TableChange, void>
  private readonly disk: Disk
  private readonly path: string
  private readonly onDamaged: ((path: string) => void) | undefined

  constructor(disk: Disk, lock: FileLock, path: string, onDamaged?: (path: string) => void) {
    this.disk = disk
    this.path = path
    this.onDamaged = onDamaged
    this.queue = new SerialQueue((changes) =>
      lock.runExclusive(async () => {
        const table = await this.load()
        for (const change of changes) change(table)
        try {
          await disk.replace(path, `${JSON.stringify(Object.fromEntries(table), null, 1)}\n`)
          await disk.syncFolder(dirname(path))
        } catch (error) {
          throw createUnavailableError(path, error)
        }
        return changes.map(() => undefined)
      }),
    )
  }

  async load(): Promise<Map<string, unknown>> {
    try {
      const content = await this.disk.read(this.path)
      if (content === undefined) return new Map()
      return this.parse(content)
    } catch (error) {
      throw createUnavailableError(this.path, error)
    }
  }

  private parse(content: Buffer): Map<string, unknown> {
    try {
      return new Map(Object.entries(parseJson(this.path, content) as object))
    } catch (error) {
      if (this.onDamaged === undefined) throw error
      this.onDamaged(this.path)
      return new Map()
    }
  }

  change(change: TableChange): Promise<void> {
    return this.queue.enqueue(change)
  }

  whenIdle(): Promise<void> {
    return this.queue.whenIdle()
  }
}
