import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { systemClock } from 'holdfast/internal'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { compile } from '../../runtime/test/dead-letters/compile.js'
import { Disk } from '../src/files/disk.js'
import { filesStore } from '../src/files/index.js'
import { ProcessLock } from '../src/files/process-lock.js'
import type { Store } from '../src/store.js'
import { at, audit, letter, storedBreaker } from './contract/records.js'
import { tempFolder } from './place.js'

const program = await compile('packages/store/test/lock-child.ts', 'fencing-child')
const NO_LIMIT = { maxEntries: 1_000_000 }

/** A process that holds a lock and writes a file under it once it is sent a line. */
async function startWriter(lock: string, file: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program, lock, 'write', file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

/** Changes the holder in the last claim of a lock. */
function editHolder(folder: string, edit: (fields: string[]) => void): void {
  const claims = readdirSync(folder).filter((name) => /^\d+$/.test(name))
  const last = join(folder, claims.toSorted((a, b) => Number(b) - Number(a))[0] ?? '')
  const fields = readFileSync(last, 'utf8').split(' ')
  edit(fields)
  writeFileSync(last, fields.join(' '))
}

const moveToAnotherContainer = (fields: string[]) => {
  fields[3] = 'another'
}

/** The time for the locks of this process. It does not pass by itself, because a busy machine can stop a test for seconds. */
let now = 0
beforeEach(() => {
  now = systemClock.now()
  vi.spyOn(systemClock, 'now').mockImplementation(() => now)
})
afterEach(() => void vi.restoreAllMocks())

/** Lets time pass for the locks of this process. */
function advanceClock(ms: number): void {
  now += ms
}

/** Takes over a lock whose holder looks like a process of another container without a heartbeat. */
function takeOver(folder: string): ProcessLock {
  editHolder(folder, moveToAnotherContainer)
  const lock = new ProcessLock(folder)
  expect(lock.tryAcquire()).toBe(false)
  advanceClock(11_000)
  expect(lock.tryAcquire()).toBe(true)
  return lock
}

describe('a lock whose holder cannot be checked', () => {
  it('is not taken over before its heartbeat timeout, although no process with its number is visible', async () => {
    const dir = await tempFolder()
    const holder = new ProcessLock(join(dir, 'lock'))
    expect(holder.tryAcquire()).toBe(true)
    const edits: ((fields: string[]) => void)[] = [
      moveToAnotherContainer,
      (fields) => (fields[2] = 'another-boot'),
      (fields) => (fields[4] = 'another-host'),
    ]
    for (const edit of edits) {
      editHolder(join(dir, 'lock'), (fields) => {
        fields[0] = '999999999'
        edit(fields)
      })
      const other = new ProcessLock(join(dir, 'lock'))
      expect(other.tryAcquire()).toBe(false)
      advanceClock(9000)
      expect(other.tryAcquire()).toBe(false)
    }
    holder.release()
  })

  it('is reported with its holder when acquiring it times out', async () => {
    const folder = join(await tempFolder(), 'lock')
    const holder = new ProcessLock(folder)
    expect(holder.tryAcquire()).toBe(true)
    const waiting = new ProcessLock(folder).acquire()
    advanceClock(31_000)
    await expect(waiting).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`process ${process.pid} on ${hostname()}`) as string,
    })
    holder.release()
  })
})

describe('a stopped holder whose lock was taken over by another process', () => {
  it.skipIf(process.platform === 'win32')(
    'writes nothing when it continues, and reports the reason',
    async () => {
      const dir = await tempFolder()
      const file = join(dir, 'file')
      const child = await startWriter(join(dir, 'lock'), file)
      child.kill('SIGSTOP')
      const lock = takeOver(join(dir, 'lock.held'))
      writeFileSync(file, 'of the new holder')
      const said = once(child.stdout as NodeJS.ReadableStream, 'data')
      child.kill('SIGCONT')
      child.stdin?.write('go\n')
      expect(String(await said)).toMatch(new RegExp(`process ${process.pid} on .* took over the lock`))
      expect(readFileSync(file, 'utf8')).toBe('of the new holder')
      lock.release()
    },
  )

  it('does not release the lock of the new holder', async () => {
    const folder = join(await tempFolder(), 'lock')
    const stopped = new ProcessLock(folder)
    expect(stopped.tryAcquire()).toBe(true)
    const lock = takeOver(folder)
    stopped.release()
    expect(stopped.tryAcquire()).toBe(false)
    expect(() => lock.verify()).not.toThrow()
    lock.release()
    expect(stopped.tryAcquire()).toBe(true)
    stopped.release()
  })

  /** A disk that stops in the middle of a write, like a stopped process. */
  class PausingDisk extends Disk {
    private pause: { reached(): void; until: Promise<void> } | undefined = undefined

    pauseNextWrite(): { reached: Promise<void>; resume(): void } {
      let [reach, resume] = [() => {}, () => {}]
      const reached = new Promise<void>((resolve) => {
        reach = resolve
      })
      const until = new Promise<void>((resolve) => {
        resume = resolve
      })
      this.pause = { reached: reach, until }
      return { reached, resume }
    }

    protected override async write(file: FileHandle, content: string | Uint8Array, offset?: number) {
      const { pause } = this
      this.pause = undefined
      pause?.reached()
      await pause?.until
      await super.write(file, content, offset)
    }
  }

  const writes: [name: string, lock: string, write: (store: Store) => Promise<unknown>][] = [
    ['a dead letter', 'dead_letters', (store) => store.deadLetters.add([letter(1)], NO_LIMIT)],
    ['a breaker', 'breakers', (store) => store.breakers.save([storedBreaker('b')])],
    ['a value', 'values', (store) => store.values.set('name', 1)],
  ]

  it.each(writes)('does not acknowledge or store %s', async (_, name, write) => {
    const dir = await tempFolder()
    const disk = new PausingDisk()
    const store = filesStore(dir, { disk })
    await store.open()
    onTestFinished(() => store.close())
    const { reached, resume } = disk.pauseNextWrite()
    const written = write(store)
    await reached
    const lock = takeOver(join(dir, '.locks', `${name}.held`))
    resume()
    await expect(written).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    lock.release()
    expect((await store.deadLetters.stats(at(0))).total).toBe(0)
    expect(await store.breakers.load()).toEqual([])
    expect(await store.values.get('name')).toBeUndefined()
    await write(store)
  })

  it('appends no records', async () => {
    const dir = await tempFolder()
    const disk = new PausingDisk()
    const store = filesStore(dir, { disk })
    await store.open()
    onTestFinished(() => store.close())
    const { reached, resume } = disk.pauseNextWrite()
    const appended = store.audit.append([audit(1)])
    await reached
    const lock = takeOver(join(dir, '.locks', 'audit.held'))
    resume()
    await expect(appended).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    lock.release()
    expect((await store.audit.list({})).items).toEqual([])
  })

  it('truncates nothing of the new holder after its own write failed', async () => {
    const file = join(await tempFolder(), 'lines')
    const lines = 'a line of the new holder\n'
    class FailingDisk extends Disk {
      protected override async write(handle: FileHandle): Promise<void> {
        await super.write(handle, lines)
        throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
      }
    }
    let checks = 0
    const disk = new FailingDisk().fencedBy({
      verify: () => {
        if (++checks > 1) throw new Error('lost')
      },
    })
    await expect(disk.append(file, 'a line\n')).rejects.toThrow('ENOSPC')
    expect(await readFile(file, 'utf8')).toBe(lines)
  })
})
