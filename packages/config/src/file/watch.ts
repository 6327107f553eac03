import { type FSWatcher, type StatsListener, unwatchFile, watch, watchFile } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from 'holdfast'

/** How a file is watched. */
export interface FileWatchOptions {
  clock: Clock
  /** Told of each new text of the file. What it throws or rejects with goes to `onError`. */
  onChange(text: string): void | Promise<void>
  /** Told where the file cannot be read, once until it can. */
  onError?(error: unknown): void
  /** The text that is known already. */
  text?: string | undefined
  /** How long a file must be left alone before it is read, in milliseconds. @defaultValue 100, at most 200 */
  debounce?: number | undefined
}

/** A watch on a file. */
export interface FileWatcher {
  /** Ends it; nothing is told afterwards. */
  close(): void
  /** Takes a text that was read elsewhere for known. */
  setKnownText(text: string): void
  /** Reads the file now, and tells of it where it is another. */
  check(): Promise<void>
}

/** How often the file is looked at whatever the system tells, for file systems that tell nothing. */
const POLL_INTERVAL_MS = 500

/** A file that is written all the time is read after so many debounces. */
const MAX_DEBOUNCES = 3

/** An empty file is being written; after so many looks it is empty. */
const MAX_EMPTY_READS = 3

/**
 * Watches a file by its folder, because editors and deployments put another file, or another link, in its place. A file that
 * is being written is left alone until it rests, and an empty one for a while longer.
 */
export function createFileWatcher(path: string, options: FileWatchOptions): FileWatcher {
  const watcher = new PollingFileWatcher(path, options)
  return {
    close: () => watcher.close(),
    setKnownText: (text) => watcher.setKnownText(text),
    check: () => watcher.check(),
  }
}

class PollingFileWatcher {
  private readonly path: string
  private readonly options: FileWatchOptions
  private readonly debounce: number
  private readonly folderWatchers = new Map<string, FSWatcher>()
  private readonly onPoll: StatsListener = () => this.scheduleRead()
  private text: string | undefined
  private timer: unknown
  private debounces = 0
  private emptyReads = 0
  private hasFailed = false
  private isClosed = false
  /** Looks follow each other, so that no text is told of before an older one. */
  private currentRead: Promise<void> = Promise.resolve()

  constructor(path: string, options: FileWatchOptions) {
    this.path = path
    this.options = options
    this.debounce = Math.min(200, Math.max(0, options.debounce ?? 100))
    this.text = options.text
    watchFile(path, { interval: POLL_INTERVAL_MS, persistent: false }, this.onPoll)
    this.watchFolder(dirname(path))
    // What changed between the first reading and the beginning of the watch must not be missed.
    this.scheduleRead()
  }

  close(): void {
    this.isClosed = true
    unwatchFile(this.path, this.onPoll)
    for (const watcher of this.folderWatchers.values()) watcher.close()
    this.folderWatchers.clear()
    this.options.clock.clearTimer(this.timer)
  }

  setKnownText(text: string): void {
    this.text = text
  }

  check(): Promise<void> {
    this.currentRead = this.currentRead.then(() => this.readFile())
    return this.currentRead
  }

  /** Watches a folder, unless the system cannot: the poll goes on all the same. */
  private watchFolder(folder: string): void {
    if (this.isClosed || this.folderWatchers.has(folder)) return
    try {
      const watcher = watch(folder, { persistent: false }, () => this.scheduleRead())
      const forget = () => {
        watcher.close()
        if (this.folderWatchers.get(folder) === watcher) this.folderWatchers.delete(folder)
      }
      watcher.on('error', forget)
      this.folderWatchers.set(folder, watcher)
    } catch {
      // No such folder, or no watches left.
    }
  }

  /** Something happened: look once it rests, or when it has not rested for a while. */
  private scheduleRead(): void {
    if (this.isClosed || this.debounces >= MAX_DEBOUNCES) return
    const { clock } = this.options
    this.debounces++
    clock.clearTimer(this.timer)
    this.timer = clock.setTimer(() => {
      this.debounces = 0
      void this.check()
    }, this.debounce)
  }

  private async readFile(): Promise<void> {
    if (this.isClosed) return
    try {
      const text = await readFile(this.path, 'utf8')
      // A link may lead to another folder by now.
      this.watchFolder(dirname(this.path))
      this.watchFolder(dirname(await realpath(this.path)))
      if (this.isClosed) return
      this.hasFailed = false
      if (text === this.text) return
      if (text.trim() === '' && this.emptyReads++ < MAX_EMPTY_READS) return this.scheduleRead()
      this.emptyReads = 0
      this.text = text
      await this.options.onChange(text)
    } catch (error) {
      if (this.isClosed || this.hasFailed) return
      this.hasFailed = true
      this.options.onError?.(error)
    }
  }
}
