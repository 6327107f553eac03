import { createUnavailableError, type Disk } from './disk.js'
import { fileSource } from './lines.js'

const ARRAY_END = '\n]\n'

/**
 * The ids of all entries that were ever completed: one JSON array with one id per line. An id is added by overwriting the closing
 * bracket, so that the cost does not depend on the number of ids. Readers ignore the partial line of a killed process, and the
 * next write overwrites it.
 */
export class ProcessedIds {
  private readonly ids = new Set<string>()
  /** The offset after the last complete id; -1 if the file has another layout and must be rewritten. */
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

  /** Reads the ids that other processes have added. */
  async refresh(): Promise<void> {
    const size = (await this.disk.stamp(this.path))?.size ?? -1
    if (size === this.size) return
    const hasGrown = this.end > 1 && size > this.size
    this.size = size
    if (hasGrown && this.readLines(await this.textFrom(this.end), this.end)) return
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

  /** Reads lines after the last complete id. False if the file has another layout. */
  private readLines(text: string, from: number): boolean {
    const [first, ...lines] = text.split('\n')
    if (first !== '' && first !== ',') return false
    let end = from
    for (const [i, line] of lines.entries()) {
      const [id, length] = parseIdLine(line)
      if (id === undefined) {
        // A bracket ends the list, and only the last line can be partial.
        if (line !== ']' && i < lines.length - 1) return false
        break
      }
      this.ids.add(id)
      end += length + (end > 1 ? 2 : 1)
    }
    this.end = end
    return true
  }

  /** Reads a JSON array in any layout, for a file that another program wrote. */
  private readAnyArray(text: string): void {
    this.end = -1
    if (text === '') return
    try {
      const ids: unknown = JSON.parse(text)
      if (!Array.isArray(ids)) throw new TypeError('expected an array')
      for (const id of ids) if (typeof id === 'string') this.ids.add(id)
    } catch (error) {
      this.warn(
        `${this.path} is not a list of ids (${String(error)}); it is rebuilt from the completed entries`,
      )
    }
  }

  /** Adds new ids. The caller holds the lock and has called {@link refresh}. */
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

/** The id in a line and its length in bytes; no id for the closing bracket and for a partial line. */
function parseIdLine(line: string): [id: string | undefined, length: number] {
  const text = line.slice(0, line.lastIndexOf('"') + 1)
  try {
    const id: unknown = JSON.parse(text)
    return [typeof id === 'string' ? id : undefined, Buffer.byteLength(text)]
  } catch {
    return [undefined, 0]
  }
}
