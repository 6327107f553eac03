import { type FSWatcher, type StatsListener, unwatchFile, watch, watchFile } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from 'holdfast'

/** The options of a file watcher. */
export interface FileWatchOptions {
  clock: Clock
  /** Receives each new text of the file. Its errors and rejections are passed to `onError`. */
  onChange(text: string): void | Promise<void>
  /** Called when the file cannot be read, once until it can be read again. */
  onError?(error: unknown): void
  /** The last known text. */
  text?: string | undefined
  /** How long a file must be unchanged before it is read, in milliseconds. @defaultValue 100, at most 200 */
  debounce?: number | undefined
}

/** Watches a file. */
export interface FileWatcher {
  /** Stops watching. No callback is called afterwards. */
  close(): void
  /** Sets the last known text after it was read elsewhere. */
  setKnownText(text: string): void
  /** Reads the file now, and reports a changed text. */
  check(): Promise<void>
}

/** The polling interval, for file systems without notifications. */
const POLL_INTERVAL_MS = 500

/** A file that changes continuously is read after this many debounce periods. */
const MAX_DEBOUNCES = 3

/** An empty file is probably being written. After this many reads it counts as empty. */
const MAX_EMPTY_READS = 3

/**
 * Watches the folder of a file, because editors and deployments replace the file or a link. A file that is being written is
 * read when it no longer changes, and an empty one a little later.
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
  /** Reads run one after another, so that texts are reported in order. */
  private currentRead: Promise<void> = Promise.resolve()

  constructor(path: string, options: FileWatchOptions) {
    this.path = path
    this.options = options
    this.debounce = Math.min(200, Math.max(0, options.debounce ?? 100))
    this.text = options.text
    watchFile(path, { interval: POLL_INTERVAL_MS, persistent: false }, this.onPoll)
    this.watchFolder(dirname(path))
    // A change between the first read and the start of the watch must not be missed.
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

  /** Watches a folder if the system can; polling continues in any case. */
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
      // The folder does not exist, or the system has no watches left.
    }
  }

  /** Schedules a read when the file no longer changes, or after a maximum time. */
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
      // A link may point to another folder now.
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
