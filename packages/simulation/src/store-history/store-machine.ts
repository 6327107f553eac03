import { gunzipSync, gzipSync } from 'node:zlib'
import { isHoldfastError } from 'holdfast'
import { Disk, type FileLock } from '../../../store/src/files/disk.js'
import type { FileSystem } from '../../../store/src/files/file-system.js'
import { filesStore } from '../../../store/src/files/index.js'
import type { Store } from '../../../store/src/store.js'
import { STORE_FOLDER } from '../disk/disk-store.js'
import { FolderNode, type Inode } from '../disk/inodes.js'
import { createProcessFileSystem, type ProcessFileSystem } from '../disk/process-file-system.js'
import { createSystemError, SimulatedDisk } from '../disk/simulated-disk.js'
import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { Violation } from '../engine/violation.js'
import { type FileOperation, observeFileSystem } from './observed-file-system.js'
import { SharedLocks } from './shared-locks.js'
import { isHit, type TargetedFault } from './targeted-fault.js'

/** How a call of a store ended. */
export type Outcome<T> =
  | {
      readonly kind: 'ok'
      readonly value: T
      /** Whether the call was repeated after a lost reply and counts only what its last execution changed. */
      readonly isCountUncertain?: boolean
    }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'died' }
  /** The process does not respond. */
  | { readonly kind: 'stopped' }

/** A process with a store in the folder of its machine. */
export interface StoreProcess {
  readonly name: string
  readonly store: Store
  isAlive: boolean
  fault: TargetedFault | undefined
  /** How many operations the disk has not finished. */
  operationCount: number
}

/** The files of each lock. A temporary file can be written without a lock, because no other process uses it. */
const LOCK_BY_FOLDER: Readonly<Record<string, readonly string[]>> = {
  sessions: ['sessions'],
  events: ['events'],
  logs: ['errors'],
  audit: ['audit'],
  breaker_events: ['breaker_events'],
  metrics: ['metrics'],
  layers: ['layers'],
  dlq: ['dead_letters'],
  'breakers.json': ['breakers'],
  'values.json': ['values'],
}

const isTemporary = (path: string): boolean => path.includes('/.unfinished-')

const never = <T>(): Promise<T> => new Promise(() => {})

class MachineDisk extends Disk {
  private readonly ids: ProcessFileSystem
  private readonly createSharedLock: (path: string) => FileLock

  constructor(fs: FileSystem, ids: ProcessFileSystem, createSharedLock: (path: string) => FileLock) {
    super(fs)
    this.ids = ids
    this.createSharedLock = createSharedLock
  }

  override createId(): string {
    return this.ids.createId()
  }

  override createLock(path: string): FileLock {
    return this.createSharedLock(path)
  }

  override async compress(content: Buffer): Promise<Buffer> {
    return gzipSync(content)
  }

  override async decompress(content: Buffer): Promise<Buffer> {
    return gunzipSync(content)
  }
}

/** One machine, on whose disk several processes use one files store. */
export class StoreMachine {
  readonly disk: SimulatedDisk
  private readonly processes = new Set<StoreProcess>()
  private readonly locks = new SharedLocks()
  private readonly files = new Map<StoreProcess, ProcessFileSystem>()
  private readonly onDied = new Map<StoreProcess, Set<() => void>>()
  private readonly report: (violation: Violation) => void
  private readonly onPowerLost: () => void
  private processCount = 0
  /** The process that does not respond: its operations end when it continues. */
  stopped: StoreProcess | undefined
  private stoppedUntil: Promise<void> | undefined
  private endStop: (() => void) | undefined
  /** Ends the calls of a process that does not respond. */
  private readonly onStopped = new Map<() => void, StoreProcess>()
  private readonly lateCalls: Promise<unknown>[] = []

  constructor(
    scheduler: Scheduler,
    choices: Choices,
    report: (violation: Violation) => void,
    onPowerLost: () => void,
  ) {
    this.disk = new SimulatedDisk(scheduler, choices)
    this.report = report
    this.onPowerLost = onPowerLost
  }

  get running(): readonly StoreProcess[] {
    return [...this.processes]
  }

  /** Whether an operation of the disk can fail now, or a process does not respond. */
  get hasFault(): boolean {
    return this.stopped !== undefined || this.running.some(({ fault }) => fault !== undefined)
  }

  /** The names in a folder of the store, as the operating system has them. */
  fileNames(...folders: readonly string[]): readonly string[] {
    let inode: Inode | undefined = this.disk.root
    for (const name of [STORE_FOLDER.slice(1), ...folders])
      inode = inode instanceof FolderNode ? inode.names.get(name) : undefined
    return inode instanceof FolderNode ? [...inode.names.keys()] : []
  }

  /** Starts a process. Its store is not open. */
  start(): StoreProcess {
    const files = createProcessFileSystem(this.disk)
    const name = `p${++this.processCount}`
    const fs = observeFileSystem(files, (operation) => this.operate(process, operation))
    const disk = new MachineDisk(fs, files, (path) => this.locks.create(path, name))
    // A warning is no violation: after a power failure the store finds files that were not flushed.
    const store = filesStore(STORE_FOLDER, { disk, warn: () => {} })
    const process: StoreProcess = { name, store, isAlive: true, fault: undefined, operationCount: 0 }
    this.files.set(process, files)
    this.onDied.set(process, new Set())
    this.processes.add(process)
    return process
  }

  kill(process: StoreProcess): void {
    if (!process.isAlive) return
    process.isAlive = false
    this.processes.delete(process)
    this.files.get(process)?.kill()
    this.locks.onProcessEnded(process.name)
    for (const onDied of this.onDied.get(process) ?? []) onDied()
    this.onDied.delete(process)
    this.files.delete(process)
  }

  losePower(): void {
    for (const process of this.processes) this.kill(process)
    this.disk.losePower()
    this.onPowerLost()
  }

  /** The process does not respond until {@link continueStopped} is called. */
  private stop(process: StoreProcess): void {
    this.stopped = process
    this.stoppedUntil = new Promise((resolve) => {
      this.endStop = resolve
    })
  }

  /** Other processes take over the locks of the process that does not respond. The disk has finished its operations by then. */
  private takeOver(process: StoreProcess): void {
    this.locks.takeOver(process.name)
    for (const [onStopped, { name }] of this.onStopped) if (name === process.name) onStopped()
  }

  /** The process that does not respond continues. Resolves when its calls have ended. */
  async continueStopped(): Promise<void> {
    this.stopped = undefined
    this.endStop?.()
    await Promise.all(this.lateCalls)
    this.lateCalls.length = 0
  }

  /**
   * Calls the store of a process.
   *
   * @param onLateSuccess - is called if the process did not respond in between, and the call succeeded when it continued
   */
  run<T>(
    process: StoreProcess,
    work: (store: Store) => Promise<T>,
    onLateSuccess?: (value: T) => void,
  ): Promise<Outcome<T>> {
    return new Promise((resolve) => {
      const callbacks = this.onDied.get(process)
      if (callbacks === undefined) return resolve({ kind: 'died' })
      const onDied = () => {
        this.onStopped.delete(onStopped)
        resolve({ kind: 'died' })
      }
      const onStopped = () => {
        this.onStopped.delete(onStopped)
        this.lateCalls.push(call.then((outcome) => outcome.kind === 'ok' && onLateSuccess?.(outcome.value)))
        resolve({ kind: 'stopped' })
      }
      callbacks.add(onDied)
      this.onStopped.set(onStopped, process)
      const onEnded = (outcome: Outcome<T>) => {
        callbacks.delete(onDied)
        this.onStopped.delete(onStopped)
        resolve(outcome)
        return outcome
      }
      const call = work(process.store).then(
        (value) => onEnded({ kind: 'ok', value }),
        (error: unknown) => {
          this.checkError(process, error)
          return onEnded({ kind: 'failed', error })
        },
      )
    })
  }

  /** A store fails only if its disk does, and then in the documented way. */
  private checkError({ name, fault }: StoreProcess, error: unknown): void {
    if (fault?.wasHit !== true)
      this.report(
        new Violation(
          'hangs',
          `a call of the store of ${name} failed, although no operation of its disk did: ${String(error)}`,
        ),
      )
    else if (!isHoldfastError(error, 'STORE_UNAVAILABLE'))
      this.report(
        new Violation(
          'unhandled',
          `a call of the store of ${name} did not fail with STORE_UNAVAILABLE: ${String(error)}`,
        ),
      )
  }

  private async operate<T>(process: StoreProcess, operation: FileOperation<T>): Promise<T> {
    if (!process.isAlive) return never()
    this.checkLock(process, operation)
    const { fault } = process
    if (fault === undefined || !isHit(fault, operation)) return this.finish(process, operation)
    switch (fault.kind) {
      case 'error':
        throw createSystemError('EIO', operation.path)
      case 'torn_error':
        await operation.executePart?.(fault.share)
        throw createSystemError('ENOSPC', operation.path)
      case 'kill_after':
      case 'power_after':
        await operation.execute()
        break
      case 'torn_kill':
        await operation.executePart?.(fault.share)
        break
      case 'stop':
        this.stop(process)
        return this.finish(process, operation)
      case 'kill_before':
      case 'power_before':
    }
    if (fault.kind.startsWith('power')) this.losePower()
    else this.kill(process)
    return never()
  }

  /** Executes an operation. A process that does not respond gets the result when it continues. */
  private async finish<T>(process: StoreProcess, { execute }: FileOperation<T>): Promise<T> {
    process.operationCount++
    try {
      return await execute()
    } finally {
      process.operationCount--
      if (this.stopped === process) {
        if (process.operationCount === 0) this.takeOver(process)
        await this.stoppedUntil
      }
    }
  }

  /** Every change is made under the lock of its file, also by a process whose lock was taken over. */
  private checkLock({ name }: StoreProcess, { name: operation, path, isChange }: FileOperation): void {
    if (!isChange || isTemporary(path)) return
    const [folder = ''] = path.slice(STORE_FOLDER.length + 1).split('/')
    const locks = LOCK_BY_FOLDER[folder] ?? []
    if (locks.some((lock) => this.locks.isHeldBy(lock, name))) return
    this.report(
      new Violation('fence', `${name} changes ${path} by ${operation} without the lock of the file`),
    )
  }
}
