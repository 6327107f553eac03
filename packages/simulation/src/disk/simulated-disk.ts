import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { FileNode, FolderNode, type Inode, type NameChange } from './inodes.js'

/** A state in which operations of a disk fail. */
export type DiskFault = 'error' | 'flaky' | 'full'

/** How many operations of a failing disk fail, and how many of a disk of which most operations of a transaction succeed. */
const ERROR_SHARE = 0.3
const FLAKY_SHARE = 0.04

/** The usual time of an operation, and of a flush. */
const MEAN_DELAY_MS = 0.05
const MEAN_FLUSH_MS = 2

/** How long an operation that waits for the device takes. */
export type DiskWork = 'change' | 'flush'

/** A system error, in the form of Node.js. */
export const createSystemError = (code: string, path: string): Error =>
  Object.assign(new Error(`${code}: simulated, '${path}'`), { code })

/**
 * The disk of one machine. The operating system has files and names in memory and writes them to the device; a power failure leaves
 * what is on the device, and the end of a process leaves everything. As POSIX says, `fsync` of a file makes its content durable,
 * and `fsync` of a folder makes the names in it durable. Names of a folder reach the device in the order of their changes.
 */
export class SimulatedDisk {
  readonly root = new FolderNode(0, 0)
  /** While it is set, a flush is acknowledged, and nothing reaches the device. */
  isLying = false
  /** Whether a power failure has ended a lie: then files can be damaged although they were flushed. */
  hasLied = false
  /** How many operations have failed, and how many flushes were acknowledged and not made. */
  failureCount = 0
  lieCount = 0
  private readonly faults = new Map<DiskFault, number>()
  private readonly scheduler: Scheduler
  private readonly choices: Choices
  /** Changes of names that are not on the device, oldest first. */
  private pendingNames: NameChange[] = []
  private inodeCount = 0
  private idCount = 0
  private lastTime = 0

  constructor(scheduler: Scheduler, choices: Choices) {
    this.scheduler = scheduler
    this.choices = choices
  }

  beginFault(fault: DiskFault): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1)
  }

  endFault(fault: DiskFault): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) - 1)
  }

  has(fault: DiskFault): boolean {
    return (this.faults.get(fault) ?? 0) > 0
  }

  /** A random number below 1, for decisions about operations. */
  random(): number {
    return this.choices.random()
  }

  /** Runs an operation when the device has time for it. */
  schedule(work: DiskWork, fn: () => void): void {
    this.scheduler.schedule(this.choices.delay(work === 'flush' ? MEAN_FLUSH_MS : MEAN_DELAY_MS), fn)
  }

  /** @throws EIO while the disk fails */
  mayFail(path: string): void {
    const share = this.has('error') ? ERROR_SHARE : this.has('flaky') ? FLAKY_SHARE : 0
    if (share > 0 && this.choices.chance(share)) throw this.fail('EIO', path)
  }

  /** Creates the error of an operation that fails because of a fault of the disk. */
  fail(code: 'EIO' | 'ENOSPC', path: string): Error {
    this.failureCount++
    return createSystemError(code, path)
  }

  /** The time of a change. Every change has another one. */
  changeTime(): number {
    this.lastTime = Math.max(this.lastTime + 0.001, this.scheduler.now)
    return this.lastTime
  }

  /** A number that no earlier call has returned. */
  createId(): string {
    return `${++this.idCount}`
  }

  createFile(): FileNode {
    return new FileNode(++this.inodeCount, this.changeTime())
  }

  createFolder(): FolderNode {
    return new FolderNode(++this.inodeCount, this.changeTime())
  }

  /** Changes names, in one step that happens completely or not at all. */
  changeNames(...changes: NameChange['names']): void {
    for (const { folder, name, inode } of changes) {
      folder.setName(name, inode)
      folder.mtime = this.changeTime()
    }
    this.pendingNames.push({ names: changes })
  }

  /** Whether nothing was ever created on the disk. */
  get isEmpty(): boolean {
    return this.root.names.size === 0
  }

  /** Whether a folder has a file whose name begins with a text. */
  hasFile(start: string, folder: FolderNode = this.root): boolean {
    for (const [name, inode] of folder.names)
      if (inode instanceof FolderNode ? this.hasFile(start, inode) : name.startsWith(start)) return true
    return false
  }

  /** Removes a file durably, as an operator does before a process starts. */
  moveAway(path: string): void {
    const names = path.split('/').filter((name) => name !== '')
    const name = names.pop() ?? ''
    let folder: Inode | undefined = this.root
    for (const part of names) folder = folder instanceof FolderNode ? folder.names.get(part) : undefined
    if (!(folder instanceof FolderNode)) return
    this.changeNames({ folder, name, inode: undefined })
    this.flush(folder)
  }

  /** Makes the content of a file, or the names in a folder, durable. */
  flush(inode: Inode): void {
    if (this.isLying) {
      this.lieCount++
      return
    }
    if (inode instanceof FileNode) return inode.flush()
    this.pendingNames = this.pendingNames.filter((change) => {
      const isFlushed = change.names.some(({ folder }) => folder === inode)
      if (isFlushed) for (const { folder, name, inode: to } of change.names) folder.setDurableName(name, to)
      return !isFlushed
    })
  }

  /**
   * The machine loses its power. Of the names that were not flushed, the first changes of each folder survive; of content that was
   * not flushed, some sectors survive.
   *
   * @returns the names that the disk has acknowledged and may have lost, because it lied
   */
  losePower(): Set<string> {
    const { choices } = this
    const lied = this.isLying ? this.pendingNames.flatMap(({ names }) => names.map(({ name }) => name)) : []
    const survival = choices.random()
    const cutFolders = new Set<FolderNode>()
    for (const { names } of this.pendingNames) {
      const survives = !names.some(({ folder }) => cutFolders.has(folder)) && choices.chance(survival)
      for (const { folder, name, inode } of names)
        if (survives) folder.setDurableName(name, inode)
        else cutFolders.add(folder)
    }
    this.pendingNames = []
    this.root.losePower(choices)
    this.hasLied ||= this.isLying
    this.isLying = false
    return new Set(lied)
  }
}
