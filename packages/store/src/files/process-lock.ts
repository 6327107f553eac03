import { randomUUID } from 'node:crypto'
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { createUnavailableError, systemErrorCode } from './disk.js'
import { describeProcess, livenessOf, THIS_PROCESS } from './process-identity.js'

/** How long to try while another process holds it, and the longest pause between two tries. */
const ACQUIRE_TIMEOUT_MS = 30_000
const MAX_PAUSE_MS = 4

/** How often a holder is looked at whose lock is waited for. */
const LIVENESS_INTERVAL_MS = 50

/** The lease of a holder whose life cannot be checked: without a heartbeat for so long, its lock may be taken over. */
const HEARTBEAT_MS = 2000
const HEARTBEAT_TIMEOUT_MS = 10_000

const sleep = (ms: number) => new Promise<void>((resolve) => systemClock.setTimer(resolve, ms))

/** What is in the folder of a lock: `7` is the claim of the seventh holder, `7.free` says that it has released the lock. */
const ENTRY = /^(\d+)(\.free)?$/

/** What the names of files begin with that say who a process is. */
const OWNER = 'owner-'

/** The holder that was seen last, and what is known of it. */
interface Observed {
  readonly generation: number
  /** When it is looked at again. */
  next: number
  isDead: boolean
  heartbeat: number
  heartbeatSeenAt: number
}

/**
 * A lock between processes that ends with the process that holds it. Node.js has no lock of the operating system, so a holder
 * says who it is, and one that waits looks whether that process still lives.
 *
 * Holders are numbered. One claims the lock by making the entry of the next number, which the file system lets only one do, after
 * the holder before has released it or has died. The entry with the highest number is never deleted, so that one who claims
 * an old number by mistake sees afterwards that it came too late.
 *
 * An entry is another name of a file that says who the process is: it is made in one step, and needs no space on a full disk.
 *
 * A holder that was stopped may lose the lock to a process that cannot see it. The number is the fencing token: before each change
 * a holder calls {@link verify}, which fails once there is a higher number.
 */
export class ProcessLock {
  private readonly folder: string
  private generation: number | undefined = undefined
  /** What this process released last: while it is the last of all, nobody else need be looked for. */
  private releasedGeneration: number | undefined = undefined
  private heartbeat: unknown = undefined
  private observed: Observed | undefined = undefined
  /** The file that says who this process is. */
  private owner: string | undefined = undefined

  constructor(folder: string) {
    this.folder = folder
  }

  /** @throws STORE_UNAVAILABLE where the folder cannot be used, or another process holds the lock for too long */
  async acquire(): Promise<void> {
    const began = systemClock.now()
    for (let wait = 1; !this.tryAcquire(); wait = Math.min(MAX_PAUSE_MS, wait * 2)) {
      if (systemClock.now() - began > ACQUIRE_TIMEOUT_MS) throw this.heldTooLong()
      await sleep(wait)
    }
  }

  /** Takes it if nobody has it. @throws STORE_UNAVAILABLE where the folder cannot be used */
  tryAcquire(): boolean {
    // The one before could not be released yet.
    if (this.generation !== undefined) return false
    try {
      const before = this.releasedGeneration ?? this.claimable()
      this.releasedGeneration = undefined
      return before !== undefined && this.claim(before + 1)
    } catch (error) {
      throw createUnavailableError(this.folder, error)
    }
  }

  /** Whether somebody has it now. */
  isHeld(): boolean {
    try {
      return this.claimable() === undefined
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

  /** Whether no other process has claimed the lock after a holder: one that does makes its entry, then deletes the earlier ones. */
  private isLast(generation: number): boolean {
    return this.has(`${generation}`) && !this.has(`${generation + 1}`)
  }

  private has(name: string): boolean {
    return statSync(join(this.folder, name), { throwIfNoEntry: false }) !== undefined
  }

  /** Removes what is of no use without this lock. */
  close(): void {
    if (this.owner === undefined || this.generation !== undefined) return
    try {
      removeFile(this.owner)
    } catch {
      // The next process that uses the lock removes it.
    }
    this.owner = undefined
  }

  release(): void {
    const { generation } = this
    systemClock.clearTimer(this.heartbeat)
    if (generation === undefined) return
    try {
      if (!this.isLast(generation)) {
        this.generation = undefined
        return
      }
      this.createEntry(`${generation}.free`)
    } catch (error) {
      // It stays held meanwhile: nothing is at stake but time.
      if (systemErrorCode(error) !== 'ENOENT') {
        this.heartbeat = systemClock.setTimer(() => this.release(), HEARTBEAT_MS)
        return
      }
    }
    this.generation = undefined
    this.releasedGeneration = generation
  }

  /** The number of the last holder, 0 where there was none; undefined while that one has the lock. */
  private claimable(): number | undefined {
    const { generation, isReleased } = lastOf(this.names())
    return generation === 0 || isReleased || this.isDead(generation) ? generation : undefined
  }

  private claim(generation: number): boolean {
    if (!this.createEntry(`${generation}`)) return false
    const names = this.names()
    const last = lastOf(names)
    const before = generation - 1
    const isInOrder = before === 0 || names.includes(`${before}`) || names.includes(`${before}.free`)
    // Others had their turns between the look and the claim, or the folder was emptied.
    if (last.generation > generation || last.isReleased || !isInOrder) {
      removeFile(join(this.folder, `${generation}`))
      return false
    }
    this.generation = generation
    // Entries of earlier holders are of no use any more.
    for (const name of names) {
      const digits = ENTRY.exec(name)?.[1]
      if (digits !== undefined && Number(digits) < generation) removeFile(join(this.folder, name))
    }
    this.beat(join(this.folder, `${generation}`))
    return true
  }

  private names(): string[] {
    try {
      return readdirSync(this.folder)
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOENT') throw error
      // Not the folders above it: where those are gone, the store is.
      try {
        mkdirSync(this.folder, { mode: 0o700 })
      } catch (failure) {
        // Another process was first.
        if (systemErrorCode(failure) !== 'EEXIST') throw failure
      }
      return []
    }
  }

  /** Makes an entry in the name of this process; false where there is one already. */
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
        if (NO_LINKS.has(code)) return createFile(path)
        if (code !== 'ENOENT' || isSecond) throw error
        this.owner = undefined
      }
    }
  }

  private createOwner(): string {
    for (const name of this.names()) {
      const path = join(this.folder, name)
      if (name.startsWith(OWNER) && livenessOf(readFile(path) ?? '') === 'dead') removeFile(path)
    }
    const path = join(this.folder, OWNER + randomUUID())
    createFile(path)
    return path
  }

  /** Whether the process died that holds the lock, as far as that can be known from here. */
  private isDead(generation: number): boolean {
    const now = systemClock.now()
    let { observed } = this
    if (observed?.generation !== generation)
      observed = this.observed = {
        generation,
        next: now,
        isDead: false,
        heartbeat: Number.NaN,
        heartbeatSeenAt: now,
      }
    if (observed.isDead || now < observed.next) return observed.isDead
    observed.next = now + LIVENESS_INTERVAL_MS
    const path = join(this.folder, `${generation}`)
    const owner = readFile(path)
    // It was just replaced by another.
    if (owner === undefined) return false
    const liveness = livenessOf(owner)
    observed.isDead =
      liveness === 'dead' || (liveness === 'unknown' && !this.hasHeartbeat(path, observed, now))
    return observed.isDead
  }

  private hasHeartbeat(path: string, observed: Observed, now: number): boolean {
    const heartbeat = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN
    if (heartbeat !== observed.heartbeat) {
      observed.heartbeat = heartbeat
      observed.heartbeatSeenAt = now
    }
    return now - observed.heartbeatSeenAt < HEARTBEAT_TIMEOUT_MS
  }

  /** Says from time to time that this process lives, for those who cannot see it. */
  private beat(path: string): void {
    this.heartbeat = systemClock.setTimer(() => {
      const at = systemClock.wall() / 1000
      try {
        utimesSync(path, at, at)
      } catch {
        // Those who can see this process need no heartbeat.
      }
      this.beat(path)
    }, HEARTBEAT_MS)
    ;(this.heartbeat as { unref?(): void }).unref?.()
  }

  private heldTooLong(): HoldfastError {
    const holder = readFile(join(this.folder, `${lastOf(this.names()).generation}`)) ?? ''
    return new HoldfastError(
      'STORE_UNAVAILABLE',
      `another process has held the lock ${this.folder} for ${ACQUIRE_TIMEOUT_MS / 1000} s: ${describeProcess(holder)}; check what it is doing, then retry`,
      { status: 503, retryAfter: 1000 },
    )
  }
}

/** The number of the last holder, and whether it has released the lock. */
function lastOf(names: readonly string[]): { generation: number; isReleased: boolean } {
  let generation = 0
  let isReleased = false
  for (const name of names) {
    const [, digits, free] = ENTRY.exec(name) ?? []
    const number = Number(digits)
    if (digits === undefined || number < generation) continue
    isReleased = free !== undefined || (number === generation && isReleased)
    generation = number
  }
  return { generation, isReleased }
}

/** File systems without hard links have a file of its own for each entry. */
const NO_LINKS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'EXDEV'])

/** Makes a file that says who this process is; false where there is one already. */
function createFile(path: string): boolean {
  try {
    writeFileSync(path, THIS_PROCESS, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** What a file says; undefined where it is gone. */
function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function removeFile(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error
  }
}
