import { dirname } from 'node:path'
import { Batches } from './batches.js'
import { type Disk, parseJson, unavailable } from './disk.js'
import type { Lock } from './lock.js'

type Change = (held: Map<string, unknown>) => void

/** A small table in one JSON file, written as a whole: values by key. */
export class JsonFile {
  private readonly batches: Batches<Change, void>
  private readonly disk: Disk
  private readonly path: string

  constructor(disk: Disk, lock: Lock, path: string) {
    this.disk = disk
    this.path = path
    this.batches = new Batches((changes) =>
      lock.hold(async () => {
        const held = await this.load()
        for (const change of changes) change(held)
        try {
          await disk.replace(path, `${JSON.stringify(Object.fromEntries(held), null, 1)}\n`)
          await disk.syncFolder(dirname(path))
        } catch (error) {
          throw unavailable(path, error)
        }
        return changes.map(() => undefined)
      }),
    )
  }

  async load(): Promise<Map<string, unknown>> {
    try {
      const content = await this.disk.read(this.path)
      if (content === undefined) return new Map()
      return new Map(Object.entries(parseJson(this.path, content) as object))
    } catch (error) {
      throw unavailable(this.path, error)
    }
  }

  change(change: Change): Promise<void> {
    return this.batches.ask(change)
  }

  idle(): Promise<void> {
    return this.batches.idle()
  }
}
