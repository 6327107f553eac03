import { type FSWatcher, type StatsListener, unwatchFile, watch, watchFile } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from 'holdfast'

/** How a file is watched. */
export interface WatchOptions {
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
export interface Watch {
  /** Ends it; nothing is told afterwards. */
  close(): void
  /** Takes a text that was read elsewhere for known. */
  know(text: string): void
  /** Reads the file now, and tells of it where it is another. */
  check(): Promise<void>
}

/** How often the file is looked at whatever the system tells, for file systems that tell nothing. */
const POLL = 500

/** A file that is written all the time is read after so many debounces. */
const PATIENCE = 3

/** An empty file is being written; after so many looks it is empty. */
const EMPTY_LOOKS = 3

/**
 * Watches a file by its folder, because editors and deployments put another file, or another link, in its place. A file that
 * is being written is left alone until it rests, and an empty one for a while longer.
 */
export function watchConfig(path: string, options: WatchOptions): Watch {
  const watching = new FileWatch(path, options)
  return {
    close: () => watching.close(),
    know: (text) => watching.know(text),
    check: () => watching.check(),
  }
}

class FileWatch {
  private readonly path: string
  private readonly options: WatchOptions
  private readonly debounce: number
  private readonly folders = new Map<string, FSWatcher>()
  private readonly onPoll: StatsListener = () => this.touch()
  private text: string | undefined
  private timer: unknown
  private touches = 0
  private emptyLooks = 0
  private failed = false
  private closed = false
  /** Looks follow each other, so that no text is told of before an older one. */
  private looking: Promise<void> = Promise.resolve()

  constructor(path: string, options: WatchOptions) {
    this.path = path
    this.options = options
    this.debounce = Math.min(200, Math.max(0, options.debounce ?? 100))
    this.text = options.text
    watchFile(path, { interval: POLL, persistent: false }, this.onPoll)
    this.watchFolder(dirname(path))
    // What changed between the first reading and the beginning of the watch must not be missed.
    this.touch()
  }

  close(): void {
    this.closed = true
    unwatchFile(this.path, this.onPoll)
    for (const watcher of this.folders.values()) watcher.close()
    this.folders.clear()
    this.options.clock.clearTimer(this.timer)
  }

  know(text: string): void {
    this.text = text
  }

  check(): Promise<void> {
    this.looking = this.looking.then(() => this.look())
    return this.looking
  }

  /** Watches a folder, unless the system cannot: the poll goes on all the same. */
  private watchFolder(folder: string): void {
    if (this.closed || this.folders.has(folder)) return
    try {
      const watcher = watch(folder, { persistent: false }, () => this.touch())
      const forget = () => {
        watcher.close()
        if (this.folders.get(folder) === watcher) this.folders.delete(folder)
      }
      watcher.on('error', forget)
      this.folders.set(folder, watcher)
    } catch {
      // No such folder, or no watches left.
    }
  }

  /** Something happened: look once it rests, or when it has not rested for a while. */
  private touch(): void {
    if (this.closed || this.touches >= PATIENCE) return
    const { clock } = this.options
    this.touches++
    clock.clearTimer(this.timer)
    this.timer = clock.setTimer(() => {
      this.touches = 0
      void this.check()
    }, this.debounce)
  }

  private async look(): Promise<void> {
    if (this.closed) return
    try {
      const text = await readFile(this.path, 'utf8')
      // A link may lead to another folder by now.
      this.watchFolder(dirname(this.path))
      this.watchFolder(dirname(await realpath(this.path)))
      if (this.closed) return
      this.failed = false
      if (text === this.text) return
      if (text.trim() === '' && this.emptyLooks++ < EMPTY_LOOKS) return this.touch()
      this.emptyLooks = 0
      this.text = text
      await this.options.onChange(text)
    } catch (error) {
      if (this.closed || this.failed) return
      this.failed = true
      this.options.onError?.(error)
    }
  }
}
