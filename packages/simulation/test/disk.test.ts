import { expect, it } from 'vitest'
import { createProcessFileSystem } from '../src/disk/process-file-system.js'
import { SimulatedDisk } from '../src/disk/simulated-disk.js'
import { runInMacrotask } from '../src/engine/microtasks.js'
import { Scheduler } from '../src/engine/scheduler.js'
import { Choices } from '../src/engine/seeded-random.js'

const MODE = 0o600
const SEEDS = Array.from({ length: 40 }, (_, seed) => seed)

/** A new disk with a process that uses it. */
function createMachine(seed: number) {
  const choices = new Choices(seed)
  const scheduler = new Scheduler(choices.fork().random)
  const disk = new SimulatedDisk(scheduler, choices.fork())
  const fs = createProcessFileSystem(disk)
  /** Does the work of a process, in virtual time. */
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    let result: Promise<T> | undefined
    await runInMacrotask(() => {
      result = work()
      result.catch(() => {})
      scheduler.runUntil(scheduler.now + 60_000)
    })
    return result as Promise<T>
  }
  /** The content of a file, as a new process sees it; undefined if the name is gone. */
  const read = (path: string) =>
    run(() =>
      createProcessFileSystem(disk)
        .readFile(path)
        .then(String, () => undefined),
    )
  const sync = async (path: string) => {
    const file = await fs.open(path, 'r')
    await file.sync()
  }
  return { disk, fs, run, read, sync }
}

it('keeps a file after a power failure if its content and its name were flushed', async () => {
  for (const seed of SEEDS) {
    const { disk, fs, run, read, sync } = createMachine(seed)
    await run(async () => {
      await fs.appendFile('/file', 'content', { mode: MODE })
      await sync('/file')
      await sync('/')
    })
    disk.losePower()
    expect(await read('/file')).toBe('content')
  }
})

it('loses or tears content that was not flushed, in some power failures', async () => {
  const contents = new Set<string | undefined>()
  for (const seed of SEEDS) {
    const { disk, fs, run, read, sync } = createMachine(seed)
    await run(async () => {
      await fs.appendFile('/file', 'old', { mode: MODE })
      await sync('/file')
      await sync('/')
      await fs.appendFile('/file', 'x'.repeat(2000), { mode: MODE })
    })
    disk.losePower()
    contents.add(await read('/file'))
  }
  expect(contents).toContain('old')
  expect(contents).toContain(`old${'x'.repeat(2000)}`)
  expect(contents.size).toBeGreaterThan(4)
})

it('keeps the old or the new file after a power failure during a rename', async () => {
  const contents = new Set<string | undefined>()
  for (const seed of SEEDS) {
    const { disk, fs, run, read, sync } = createMachine(seed)
    await run(async () => {
      for (const text of ['old', 'new']) {
        await fs.appendFile('/temporary', text, { mode: MODE })
        await sync('/temporary')
        await fs.rename('/temporary', '/file')
        if (text === 'old') await sync('/')
      }
    })
    disk.losePower()
    contents.add(await read('/file'))
  }
  expect(contents).toEqual(new Set(['old', 'new']))
})

it('keeps everything after the end of a process, and finishes no operation later', async () => {
  const { fs, run, read } = createMachine(1)
  await run(() => fs.appendFile('/file', 'content', { mode: MODE }))
  fs.kill()
  let isSettled = false
  await run(async () => {
    void fs.appendFile('/file', ' of a dead process', { mode: MODE }).finally(() => {
      isSettled = true
    })
  })
  expect(isSettled).toBe(false)
  expect(await read('/file')).toBe('content')
})

it('loses flushed content at a power failure if it lied, and reports the names', async () => {
  const contents = new Set<string | undefined>()
  for (const seed of SEEDS) {
    const { disk, fs, run, read, sync } = createMachine(seed)
    disk.isLying = true
    await run(async () => {
      await fs.appendFile('/file', 'content', { mode: MODE })
      await sync('/file')
      await sync('/')
    })
    expect(disk.losePower()).toEqual(new Set(['file']))
    contents.add(await read('/file'))
  }
  expect(contents).toContain(undefined)
  expect(contents).toContain('')
})

it('rejects changes of a full disk, and operations of a failing one', async () => {
  const { disk, fs, run } = createMachine(1)
  const results = async () => {
    const codes = new Set<unknown>()
    for (let at = 0; at < 40; at++)
      await run(() =>
        fs.appendFile('/file', 'content', { mode: MODE }).then(
          () => codes.add('ok'),
          ({ code }: { code: unknown }) => codes.add(code),
        ),
      )
    return codes
  }
  disk.beginFault('full')
  expect(await results()).toContain('ENOSPC')
  disk.endFault('full')
  disk.beginFault('error')
  expect(await results()).toEqual(new Set(['ok', 'EIO']))
  disk.endFault('error')
  expect(await results()).toEqual(new Set(['ok']))
})
