import { HoldfastError } from 'holdfast'
import { createNotOpenError } from './connection.js'
import type { TableHost, TableName } from './host.js'
import type { TableOptions } from './tables.js'
import type { SqliteThread, StartThread } from './thread-port.js'
import { decodeError, type ThreadInput, type ThreadRequest, type ThreadResponse } from './thread-protocol.js'

/** How many threads can end during a call before it fails, because the call itself may end them. */
const MAX_ATTEMPTS = 2

/** How many calls, and characters of their texts, wait for a response at most. Further calls are rejected. */
const MAX_PENDING: PendingLimits = { calls: 10_000, size: 2 ** 28 }

/** The delay after which a rejected call can be repeated. */
const RETRY_AFTER_MS = 1000

/**
 * Calls that have another result, or change more, if they are carried out twice. The second `edit` finds the lease that another
 * call without a response has acquired after the first.
 */
const UNREPEATABLE = new Set([
  'sessions.expire',
  'events.expire',
  'errors.expire',
  'audit.expire',
  'breakerEvents.expire',
  'metrics.expire',
  'layers.expire',
  'layers.append',
  'deadLetters.lease',
  'deadLetters.leaseNext',
  'deadLetters.settle',
  'deadLetters.edit',
  'deadLetters.purge',
  'deadLetters.deleteProcessedIds',
])

interface PendingLimits {
  readonly calls: number
  readonly size: number
}

interface PendingThreadCall {
  readonly request: ThreadRequest
  readonly size: number
  attempts: number
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** The error of a thread that could not be started. */
export class ThreadStartError extends Error {}

/**
 * Runs the tables of a file in a worker thread, so that commits and checkpoints do not block the event loop. The thread does not
 * keep the process running, except while a call waits for it. If the thread ends, it is started again, and the calls that
 * wait are sent again: adding an entry twice adds it once, and records can be repeated, as after any retry. A call that cannot
 * be repeated fails, because the thread may have carried it out. A call beyond the limits fails, so that a slow disk does not fill
 * the memory. The caller opens and closes the file one after the other.
 */
export class ThreadHost implements TableHost {
  hasUnreadableRows = false
  private readonly input: ThreadInput
  private readonly startThread: StartThread
  private worker: SqliteThread | undefined
  /** Whether calls are accepted. */
  private isOpen = false
  /** Whether a thread that is started continues with the file. */
  private isFileOpen = false
  private lastId = 0
  /** The calls without a response, in order. */
  private readonly pending = new Map<number, PendingThreadCall>()
  private pendingSize = 0
  private readonly limits: PendingLimits

  constructor(
    file: string,
    options: TableOptions,
    startThread: StartThread,
    limits: PendingLimits = MAX_PENDING,
  ) {
    this.input = { file, options }
    this.startThread = startThread
    this.limits = limits
  }

  call(table: TableName, method: string, args: readonly unknown[]): Promise<unknown> {
    if (table === 'file') return method === 'open' ? this.open() : this.close()
    if (!this.isOpen) return Promise.reject(createNotOpenError(this.input.file))
    if (this.pending.size >= this.limits.calls || this.pendingSize >= this.limits.size)
      return Promise.reject(createOverloadedError(this.input.file, this.pending.size))
    return this.send(table, method, args)
  }

  private async open(): Promise<void> {
    if (this.isOpen) return
    try {
      await this.send('file', 'open', [])
    } catch (error) {
      await this.stop()
      throw error
    }
    this.isOpen = true
    this.isFileOpen = true
  }

  private async close(): Promise<void> {
    if (!this.isOpen) return
    // From here on calls are rejected. Writes that were sent are completed first.
    const closed = this.send('file', 'close', [])
    this.isOpen = false
    try {
      await closed
    } finally {
      await this.stop()
    }
  }

  private async stop(): Promise<void> {
    const { worker } = this
    this.worker = undefined
    this.isFileOpen = false
    await worker?.terminate()
    // Calls of several steps can be unfinished when the file is closed.
    for (const call of this.pending.values())
      this.finish(call, () => call.reject(createNotOpenError(this.input.file)))
  }

  private send(table: TableName, method: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const request = { id: ++this.lastId, table, method, args }
      const call: PendingThreadCall = { request, size: textSize(args), attempts: 0, resolve, reject }
      this.pending.set(request.id, call)
      this.pendingSize += call.size
      this.post(call)
    })
  }

  private post(call: PendingThreadCall): void {
    try {
      const worker = (this.worker ??= this.start())
      call.attempts++
      worker.postMessage(call.request)
      worker.ref()
    } catch (error) {
      this.finish(call, () => call.reject(toCallError(this.input.file, call, error)))
    }
  }

  /** Starts a thread. One that replaces another continues with the file. */
  private start(): SqliteThread {
    let worker: SqliteThread
    try {
      worker = this.startThread(this.input, {
        onResponse: (response) => this.onResponse(response),
        onExit: (cause) => {
          if (this.worker !== worker) return
          this.worker = undefined
          this.onExit(cause)
        },
      })
    } catch (error) {
      throw new ThreadStartError(`the thread cannot be started (${reasonOf(error)})`, { cause: error })
    }
    if (this.isFileOpen)
      worker.postMessage({ id: 0, table: 'file', method: 'resume', args: [] } satisfies ThreadRequest)
    worker.unref()
    return worker
  }

  private onResponse(response: ThreadResponse): void {
    // A new thread does not know the rows that the one before it found.
    this.hasUnreadableRows ||= response.hasUnreadableRows
    const call = this.pending.get(response.id)
    if (call === undefined) return
    this.finish(call, () => {
      if ('error' in response) call.reject(decodeError(response.error))
      else call.resolve(response.result)
    })
  }

  /** Ends a call. An idle thread does not keep the process running. */
  private finish(call: PendingThreadCall, settle: () => void): void {
    this.pending.delete(call.request.id)
    this.pendingSize -= call.size
    if (this.pending.size === 0) this.worker?.unref()
    settle()
  }

  private onExit(cause: unknown): void {
    const { file } = this.input
    if (this.isFileOpen)
      console.error(
        `holdfast: the thread of the SQLite store ${file} ended (${reasonOf(cause)}); it is started again`,
      )
    for (const call of this.pending.values()) {
      if (call.request.method === 'open')
        this.finish(call, () =>
          call.reject(
            new ThreadStartError(`the thread ended before it opened the file (${reasonOf(cause)})`, {
              cause,
            }),
          ),
        )
      else if (UNREPEATABLE.has(`${call.request.table}.${call.request.method}`))
        this.finish(call, () =>
          call.reject(
            createThreadEndedError(file, 'during this call, which may have been carried out or not', cause),
          ),
        )
      else if (call.attempts >= MAX_ATTEMPTS)
        this.finish(call, () =>
          call.reject(createThreadEndedError(file, 'several times during this call', cause)),
        )
      else this.post(call)
    }
  }
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** The number of characters in the texts of a value. Texts below four levels are not counted: rows have none there. */
function textSize(value: unknown, levels = 4): number {
  if (typeof value === 'string') return value.length
  if (levels === 0 || typeof value !== 'object' || value === null) return 0
  let size = 0
  for (const part of Object.values(value)) size += textSize(part, levels - 1)
  return size
}

const createOverloadedError = (file: string, pendingCalls: number): HoldfastError =>
  new HoldfastError(
    'STORE_UNAVAILABLE',
    `the SQLite store ${file}: ${pendingCalls} calls wait for its thread, which is the limit of their number or size; ` +
      'wait for some of them, and check the speed of the disk',
    { status: 503, retryAfter: RETRY_AFTER_MS },
  )

const createThreadEndedError = (file: string, when: string, cause: unknown): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `the SQLite store ${file}: its thread ended ${when}`, {
    cause,
    status: 503,
  })

/** The error of a call that could not be sent. */
function toCallError(file: string, { request }: PendingThreadCall, cause: unknown): unknown {
  if (cause instanceof ThreadStartError)
    return request.method === 'open'
      ? cause
      : new HoldfastError('STORE_UNAVAILABLE', `the SQLite store ${file}: its thread cannot be started`, {
          cause,
          status: 503,
        })
  return new HoldfastError(
    'INVALID_OPTIONS',
    `the arguments of ${request.table}.${request.method} are not plain data: ${(cause as Error).message}`,
    { cause },
  )
}
