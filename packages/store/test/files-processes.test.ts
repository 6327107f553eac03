import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { compile } from '../../runtime/test/dead-letters/compile.js'
import { ChangeLog } from '../src/files/change-log.js'
import { Disk } from '../src/files/disk.js'
import { FairFileLock } from '../src/files/lock.js'
import { tempFolder } from './place.js'

const program = await compile('packages/store/test/lock-child.ts', 'lock-child')

/** A process that uses a lock, and its first output. */
async function another(file: string, what: 'hold' | 'try'): Promise<[child: ChildProcess, said: string]> {
  const child = spawn(process.execPath, [program, file, what], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  return [child, said.toString().trim()]
}

/** A process that acquires a lock, reports it and holds it. */
async function holder(file: string): Promise<ChildProcess> {
  const [child] = await another(file, 'hold')
  return child
}

/** Whether another process can acquire the lock. */
async function tried(file: string): Promise<string> {
  const [, said] = await another(file, 'try')
  return said
}

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

describe('a lock between processes', () => {
  it('is free again when the process that held it is killed', async () => {
    const file = join(await tempFolder(), 'lock')
    const child = await holder(file)
    const lock = new FairFileLock(file)
    let held = false
    const turn = lock.runExclusive(async () => {
      held = true
    })
    // A waiting process retries every few milliseconds, so a few turns of the event loop are enough.
    for (let i = 0; i < 5; i++) await readdir('.')
    expect(held).toBe(false)
    child.kill('SIGKILL')
    await turn
    expect(held).toBe(true)
    await lock.close()
  })

  it('excludes other processes while another store of this process waits for it', async () => {
    const file = join(await tempFolder(), 'lock')
    const [one, two] = [new FairFileLock(file), new FairFileLock(file)]
    const { promise: over, resolve: end } = deferred()
    let waiting: Promise<void> | undefined
    await new Promise<void>((resolve) => {
      void one.runExclusive(async () => {
        waiting = two.runExclusive(async () => {})
        resolve()
        await over
      })
    })
    // The other store has opened the same files before the process has started.
    expect(await tried(file)).toBe('busy')
    end()
    await waiting
    expect(await tried(file)).toBe('free')
    await Promise.all([one.close(), two.close()])
  })

  it('stays held by a stopped process that can be checked', async () => {
    const file = join(await tempFolder(), 'lock')
    const child = await holder(file)
    child.kill('SIGSTOP')
    expect(await tried(file)).toBe('busy')
    child.kill('SIGKILL')
    const lock = new FairFileLock(file)
    expect(await lock.runExclusive(async () => 1)).toBe(1)
    await lock.close()
  })

  it('is held by one process at a time while many are killed at random', async () => {
    const folder = await tempFolder()
    const file = join(folder, 'lock')
    const counter = join(folder, 'counter')
    await writeFile(counter, '0')
    const children = Array.from({ length: 4 }, () =>
      spawn(process.execPath, [program, file, 'count', counter], { stdio: ['pipe', 'pipe', 'inherit'] }),
    )
    onTestFinished(() => {
      for (const child of children) child.kill('SIGKILL')
    })
    let said = ''
    for (const child of children) child.stdout.on('data', (data) => (said += String(data)))
    const ends = children.map((child) => once(child, 'exit'))
    for (const [i, child] of children.entries()) {
      const most = said.length + 200
      while (said.length < most && child.exitCode === null) await once(child.stdout, 'data')
      if (i < 2) child.kill('SIGKILL')
    }
    for (const child of children.slice(2)) child.stdin.end()
    await Promise.all(ends)
    expect(said).not.toContain('!')
  })

  it('is held by one process at a time, and is fair to several', async () => {
    const file = join(await tempFolder(), 'lock')
    const locks = [new FairFileLock(file), new FairFileLock(file), new FairFileLock(file)]
    let inside = 0
    const order: number[] = []
    await Promise.all(
      locks.map(async (lock, n) => {
        for (let i = 0; i < 10; i++)
          await lock.runExclusive(async () => {
            expect(++inside).toBe(1)
            order.push(n)
            await readdir('.')
            inside--
          })
      }),
    )
    expect(order).toHaveLength(30)
    await Promise.all(locks.map((lock) => lock.close()))
  })

  it('is released when the work under it fails', async () => {
    const lock = new FairFileLock(join(await tempFolder(), 'lock'))
    await expect(lock.runExclusive(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await lock.runExclusive(async () => 1)).toBe(1)
    await lock.close()
    await expect(lock.runExclusive(async () => 1)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})

describe('the log of changes', () => {
  it('reports each change to other processes once', async () => {
    const folder = await tempFolder()
    const [one, two] = [new ChangeLog(new Disk(), folder), new ChangeLog(new Disk(), folder)]
    await one.catchUp()
    await two.catchUp()
    expect(await two.isCurrent()).toBe(true)
    await one.append([['a', '1.json']])
    expect(await one.isCurrent()).toBe(true)
    expect(await two.isCurrent()).toBe(false)
    expect(await two.read()).toEqual([['a', '1.json']])
    expect(await two.read()).toEqual([])
    await two.append([['b', '2.json']])
    expect(await one.read()).toEqual([['b', '2.json']])
  })

  it('reports that it cannot follow after a new log was started, and catches up', async () => {
    const folder = await tempFolder()
    const [one, two] = [new ChangeLog(new Disk(), folder, 100), new ChangeLog(new Disk(), folder, 100)]
    await one.catchUp()
    await two.catchUp()
    for (let n = 0; n < 10; n++) await one.append([['a', `${n}.json`]])
    expect(await readdir(folder)).toHaveLength(1)
    expect(await two.isCurrent()).toBe(false)
    expect(await two.read()).toBeUndefined()
    await two.catchUp()
    expect(await two.isCurrent()).toBe(true)
    expect(await one.isCurrent()).toBe(true)
    await two.append([['b', 'x.json']])
    expect(await one.read()).toEqual([['b', 'x.json']])
  })
})
