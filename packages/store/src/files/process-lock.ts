import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { createUnavailableError, systemErrorCode } from './disk.js'
import { HEARTBEAT_MS, HEARTBEAT_TIMEOUT_MS, HolderLiveness } from './holder-liveness.js'
import { claimNumber, createFile, lastOf, NO_HARD_LINK_CODES, readFile, removeFile } from './lock-files.js'
import { describeProcess, livenessOf } from './process-identity.js'

/** How long to wait while another process holds the lock, and the longest pause between two attempts. */
const ACQUIRE_TIMEOUT_MS = 30_000
const MAX_PAUSE_MS = 4

const sleep = (ms: number) => new Promise<void>((resolve) => systemClock.setTimer(resolve, ms))

/** The prefix of files that identify a process. */
const OWNER_PREFIX = 'owner-'

/**
 * A lock between processes that ends with the process that holds it. Node.js has no access to locks of the operating system, so a
 * holder writes its identity, and a waiting process checks whether the holder is still alive.
 *
 * Holders are numbered. A process claims the lock by creating the file of the next number, which only one process can do, after
 * the previous holder has released the lock or has died. The file with the highest number is never deleted, so that a process
 * that claims an outdated number detects it afterwards.
 *
 * A claim is a hard link to the file that identifies the process: it is created atomically, and needs no space on a full disk.
 *
 * A stopped holder can lose the lock to a process that cannot check it. The number is the fencing token: before each change a
 * holder calls {@link verify}, which fails once there is a higher number.
 */
export class ProcessLock {
  private readonly folder: string
  private generation: number | undefined = undefined
  /** The last number that this process released. If no other process has claimed the lock since, no search is needed. */
  private releasedGeneration: number | undefined = undefined
  /** The next heartbeat, or the next attempt to release the lock. */
  private timer: unknown = undefined
  private readonly liveness = new HolderLiveness()
  /** The file that identifies this process. */
  private owner: string | undefined = undefined

  constructor(folder: string) {
    this.folder = folder
  }

  /** @throws STORE_UNAVAILABLE if the folder cannot be used, or another process holds the lock for too long */
  async acquire(): Promise<void> {
    const startedAt = systemClock.now()
    for (let wait = 1; !this.tryAcquire(); wait = Math.min(MAX_PAUSE_MS, wait * 2)) {
      if (systemClock.now() - startedAt > ACQUIRE_TIMEOUT_MS) throw this.createTimeoutError()
      await sleep(wait)
    }
  }

  /** Acquires the lock if it is free. @throws STORE_UNAVAILABLE if the folder cannot be used */
  tryAcquire(): boolean {
    // The previous claim could not be released yet.
    if (this.generation !== undefined) return false
    try {
      const previous = this.releasedGeneration ?? this.findFreeGeneration()
      this.releasedGeneration = undefined
      return previous !== undefined && this.claim(previous + 1)
    } catch (error) {
      throw createUnavailableError(this.folder, error)
    }
  }

  /** Whether a process holds the lock now. */
  isHeld(): boolean {
    try {
      return this.findFreeGeneration() === undefined
    } catch (error) {
      throw createUnavailableError(this.folder, error)
    }
  }

  /** @throws STORE_UNAVAILABLE if this process held the lock and another one took it over */
  verify(): void {
    const { generation } = this
    if (generation === undefined || this.isLast(generation)) return
    const holder = readFile(join(this.folder, `${lastOf(this.names()).generation}`))
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      `${holder === undefined ? 'another process' : describeProcess(holder)} took over the lock ${this.folder} while this process was stopped or did not respond for ${HEARTBEAT_TIMEOUT_MS / 1000} s; this change was not acknowledged, retry it`,
      { status: 503 },
    )
  }

  /** Whether no other process has claimed the lock since. Such a process creates its own claim, then deletes the earlier ones. */
  private isLast(generation: number): boolean {
    return this.has(`${generation}`) && !this.has(`${generation + 1}`)
  }

  private has(name: string): boolean {
    return statSync(join(this.folder, name), { throwIfNoEntry: false }) !== undefined
  }

  /** Deletes the file that identifies this process. */
  close(): void {
    if (this.owner === undefined || this.generation !== undefined) return
    try {
      removeFile(this.owner)
    } catch {
      // The next process that uses the lock deletes it.
    }
    this.owner = undefined
  }

  release(): void {
    const { generation } = this
    systemClock.clearTimer(this.timer)
    if (generation === undefined) return
    try {
      if (!this.isLast(generation)) {
        this.generation = undefined
        return
      }
      this.createEntry(`${generation}.free`)
    } catch (error) {
      // The lock stays held, and the release is retried.
      if (systemErrorCode(error) !== 'ENOENT') {
        this.setTimer(() => this.release())
        return
      }
    }
    this.generation = undefined
    this.releasedGeneration = generation
  }

  /** The number of the last holder, 0 without one; undefined while it holds the lock. */
  private findFreeGeneration(): number | undefined {
    const { generation, isReleased } = lastOf(this.names())
    const isFree =
      generation === 0 || isReleased || this.liveness.isDead(generation, join(this.folder, `${generation}`))
    return isFree ? generation : undefined
  }

  private claim(generation: number): boolean {
    if (!this.createEntry(`${generation}`)) return false
    try {
      return this.confirmClaim(generation)
    } catch (error) {
      // This process is alive, so that no other process would take over the claim.
      this.generation = generation
      this.release()
      throw error
    }
  }

  /** Checks a claim whose file exists, and deletes the earlier ones. False if it is outdated. */
  private confirmClaim(generation: number): boolean {
    const names = this.names()
    const last = lastOf(names)
    const previous = generation - 1
    const isInOrder = previous === 0 || names.includes(`${previous}`) || names.includes(`${previous}.free`)
    // Other processes held the lock between the check and the claim, or the folder was emptied.
    if (last.generation > generation || last.isReleased || !isInOrder) {
      removeFile(join(this.folder, `${generation}`))
      return false
    }
    // Claims of earlier holders are not needed any more.
    for (const name of names) {
      const number = claimNumber(name)
      if (number !== undefined && number < generation) removeFile(join(this.folder, name))
    }
    this.generation = generation
    this.scheduleHeartbeat(join(this.folder, `${generation}`))
    return true
  }

  private names(): string[] {
    try {
      return readdirSync(this.folder)
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOENT') throw error
      // Its parent folders are not created: without them the store is gone.
      try {
        mkdirSync(this.folder, { mode: 0o700 })
      } catch (failure) {
        // Another process has created it.
        if (systemErrorCode(failure) !== 'EEXIST') throw failure
      }
      return []
    }
  }

  /** Creates a claim of this process; false if the file exists already. */
  private createEntry(name: string): boolean {
    const path = join(this.folder, name)
    for (let isSecond = false; ; isSecond = true) {
      this.owner ??= this.createOwner()
      try {
        linkSync(this.owner, path)
        return true
      } catch (error) {
        const code = systemErrorCode(error)
        if (code === 'EEXIST') return false
        if (NO_HARD_LINK_CODES.has(code)) return createFile(path)
        if (code !== 'ENOENT' || isSecond) throw error
        this.owner = undefined
      }
    }
  }

  private createOwner(): string {
    for (const name of this.names()) {
      const path = join(this.folder, name)
      if (name.startsWith(OWNER_PREFIX) && livenessOf(readFile(path) ?? '') === 'dead') removeFile(path)
    }
    const path = join(this.folder, OWNER_PREFIX + randomUUID())
    createFile(path)
    return path
  }

  /** Updates the modification time of the claim periodically, for processes that cannot check this one. */
  private scheduleHeartbeat(path: string): void {
    this.setTimer(() => {
      const at = systemClock.wall() / 1000
      try {
        utimesSync(path, at, at)
      } catch {
        // Processes that can check this one do not need a heartbeat.
      }
      this.scheduleHeartbeat(path)
    })
  }

  /** Sets the timer of the heartbeat or of the next release. The process can exit meanwhile, which frees its locks. */
  private setTimer(work: () => void): void {
    this.timer = systemClock.setTimer(work, HEARTBEAT_MS)
    ;(this.timer as { unref?(): void }).unref?.()
  }

  private createTimeoutError(): HoldfastError {
    const holder = readFile(join(this.folder, `${lastOf(this.names()).generation}`)) ?? ''
    return new HoldfastError(
      'STORE_UNAVAILABLE',
      `another process has held the lock ${this.folder} for ${ACQUIRE_TIMEOUT_MS / 1000} s: ${describeProcess(holder)}; check what it is doing, then retry`,
      { status: 503, retryAfter: 1000 },
    )
  }
}
