import { appendFile, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CONFIG_DEFAULTS, type ErrorLogOptions } from '@holdfast/config'
import { DAY_MS, type ErrorRecord, errorRecordText, RetentionClock } from '@holdfast/records'
import type { Clock } from 'holdfast'

/** How often old files are deleted. */
const EXPIRE_INTERVAL_MS = 3_600_000

const FILE_NAME_PATTERN = /^errors_(\d{4}-\d{2}-\d{2})(?:\.\d+)?\.jsonl$/

/**
 * Writes error records to files `{dir}/{severity}/errors_{date}.jsonl`, one object per line, readable only by the owner.
 */
export class ErrorFiles {
  private readonly clock: Clock
  private readonly options: () => ErrorLogOptions
  private readonly retentionClock: RetentionClock
  private nextExpiryAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, options: () => ErrorLogOptions) {
    this.clock = clock
    this.options = options
    this.retentionClock = new RetentionClock(clock)
  }

  /** Appends records, each to the file of its severity and day. */
  async write(records: readonly ErrorRecord[]): Promise<void> {
    const { dir } = this.options()
    if (dir === undefined) return
    const files = new Map<string, string[]>()
    for (const record of records) {
      const day = record.timestamp.toISOString().slice(0, 10)
      const file = join(dir, record.severity, `errors_${day}.jsonl`)
      const lines = files.get(file) ?? []
      lines.push(`${errorRecordText.write(record)}\n`)
      files.set(file, lines)
    }
    for (const [file, lines] of files) await this.append(file, lines)
    if (this.clock.now() >= this.nextExpiryAt) {
      this.nextExpiryAt = this.clock.now() + EXPIRE_INTERVAL_MS
      await this.expire(dir)
    }
  }

  private async append(file: string, lines: readonly string[]): Promise<void> {
    const { maxSize = CONFIG_DEFAULTS.errorLog.maxSize } = this.options()
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    let { size, torn: isTorn } = await inspectFile(file)
    let text = isTorn ? '\n' : ''
    for (const line of lines) {
      const more = Buffer.byteLength(line)
      if (size > 0 && size + more > maxSize) {
        if (text !== '') await appendFile(file, text, { mode: 0o600 })
        await rotateFile(file)
        size = 0
        text = ''
      }
      text += line
      size += more
    }
    await appendFile(file, text, { mode: 0o600 })
  }

  private async expire(dir: string): Promise<void> {
    const { maxAge = CONFIG_DEFAULTS.errorLog.maxAge } = this.options()
    const wall = this.retentionClock.wall()
    for (const folder of await readdir(dir, { withFileTypes: true })) {
      if (!folder.isDirectory()) continue
      for (const name of await readdir(join(dir, folder.name))) {
        const day = Date.parse(FILE_NAME_PATTERN.exec(name)?.[1] ?? '')
        if (day + DAY_MS <= wall - maxAge) await rm(join(dir, folder.name, name), { force: true })
      }
    }
  }
}

/** The size of a file, and whether a crash truncated its last line. */
async function inspectFile(file: string): Promise<{ size: number; torn: boolean }> {
  try {
    const { size } = await stat(file)
    if (size === 0) return { size, torn: false }
    const handle = await open(file, 'r')
    try {
      const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
      return { size, torn: buffer[0] !== 10 }
    } finally {
      await handle.close()
    }
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return { size: 0, torn: false }
    throw error
  }
}

/** Renames `errors_DATE.jsonl` to the first `errors_DATE.N.jsonl` that is free. */
async function rotateFile(file: string): Promise<void> {
  const taken = new Set(await readdir(dirname(file)))
  const base = file.slice(dirname(file).length + 1, -'.jsonl'.length)
  let number = 1
  while (taken.has(`${base}.${number}.jsonl`)) number++
  await rename(file, join(dirname(file), `${base}.${number}.jsonl`))
}
