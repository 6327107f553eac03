import { createUnavailableError, type Disk } from './disk.js'
import { fileSource } from './lines.js'

const ARRAY_END = '\n]\n'

/**
 * The ids of all entries that were ever completed: one JSON array, an id a line. An id is added by writing over the
 * closing bracket, so that adding costs the same however many there are; what a killed writer left half-done is passed
 * over by readers and written over by the next writer.
 */
export class ProcessedIds {
  private readonly ids = new Set<string>()
  /** Where the last whole id ends; -1 where the file is not laid out as ours is, and must be written anew. */
  private end = -1
  private size = -1
  private readonly disk: Disk
  private readonly path: string
  private readonly warn: (line: string) => void

  constructor(disk: Disk, path: string, warn: (line: string) => void) {
    this.disk = disk
    this.path = path
    this.warn = warn
  }

  has(id: string): boolean {
    return this.ids.has(id)
  }

  /** Reads what others have added. */
  async refresh(): Promise<void> {
    const size = (await this.disk.stamp(this.path))?.size ?? -1
    if (size === this.size) return
    const grown = this.end > 1 && size > this.size
    this.size = size
    if (grown && this.readLines(await this.textFrom(this.end), this.end)) return
    const text = await this.textFrom(0)
    if (!text.startsWith('[') || !this.readLines(text.slice(1), 1)) this.readAnyArray(text)
  }

  private async textFrom(offset: number): Promise<string> {
    const file = await this.disk.open(this.path)
    if (file === undefined) return ''
    const source = fileSource(file, (await file.stat()).size)
    try {
      return (await source.read(offset, source.size - offset)).toString()
    } finally {
      await source.close()
    }
  }

  /** Reads lines from where the last whole id ended. False where they are not laid out as ours are. */
  private readLines(text: string, from: number): boolean {
    const [first, ...lines] = text.split('\n')
    if (first !== '' && first !== ',') return false
    let end = from
    for (const [i, line] of lines.entries()) {
      const [id, length] = parseIdLine(line)
      if (id === undefined) {
        // A bracket ends the list, and half a line can only be the last.
        if (line !== ']' && i < lines.length - 1) return false
        break
      }
      this.ids.add(id)
      end += length + (end > 1 ? 2 : 1)
    }
    this.end = end
    return true
  }

  /** A list that somebody else wrote, as any JSON array. */
  private readAnyArray(text: string): void {
    this.end = -1
    if (text === '') return
    try {
      const ids: unknown = JSON.parse(text)
      if (!Array.isArray(ids)) throw new TypeError('it is no array')
      for (const id of ids) if (typeof id === 'string') this.ids.add(id)
    } catch (error) {
      this.warn(
        `${this.path} is not a list of ids (${String(error)}); it is made anew from completed entries`,
      )
    }
  }

  /** Adds ids that are not there yet. Whoever calls it holds the lock and has refreshed. */
  async add(ids: readonly string[]): Promise<void> {
    const added = [...new Set(ids)].filter((id) => !this.ids.has(id))
    if (added.length === 0) return
    try {
      const lines = (list: Iterable<string>) => Array.from(list, (id) => `\n${JSON.stringify(id)}`).join(',')
      if (this.end < 0) {
        await this.disk.replace(this.path, `[${lines([...this.ids, ...added])}${ARRAY_END}`)
        this.size = -1
      } else {
        const text = `${this.end > 1 ? ',' : ''}${lines(added)}`
        await this.disk.overwrite(this.path, this.end, text + ARRAY_END)
        this.end += Buffer.byteLength(text)
        this.size = this.end + ARRAY_END.length
      }
    } catch (error) {
      this.size = -1
      throw createUnavailableError(this.path, error)
    }
    for (const id of added) this.ids.add(id)
    if (this.size < 0) await this.refresh()
  }
}

/** The id of a line and its length in bytes; no id for the closing bracket and for half a line. */
function parseIdLine(line: string): [id: string | undefined, length: number] {
  const text = line.slice(0, line.lastIndexOf('"') + 1)
  try {
    const id: unknown = JSON.parse(text)
    return [typeof id === 'string' ? id : undefined, Buffer.byteLength(text)]
  } catch {
    return [undefined, 0]
  }
}
