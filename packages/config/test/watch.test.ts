import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { appendFile, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { fakeClock } from 'holdfast/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createFileWatcher, type FileWatcher } from '../src/file/watch.js'

// Files and the system's word of their changes are real here, so time is too.
let folder: string
let file: string
let watching: FileWatcher | undefined
let texts: string[]
let errors: unknown[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-watch-'))
  file = join(folder, 'holdfast.yaml')
  writeFileSync(file, 'one')
  texts = []
  errors = []
})

afterEach(() => {
  watching?.close()
  rmSync(folder, { recursive: true, force: true })
})

function start(text: string | undefined = 'one', path = file, clock: Clock = systemClock): void {
  watching = createFileWatcher(path, {
    clock,
    text,
    debounce: 50,
    onChange: (changed) => void texts.push(changed),
    onError: (error) => void errors.push(error),
  })
}

const last = (text: string) => expect.poll(() => texts.at(-1)).toBe(text)

test('a rewritten file is reported once', async () => {
  start()
  writeFileSync(file, 'two')
  await last('two')
  await watching?.check()
  expect(texts).toEqual(['two'])
})

test('a file that is replaced by a rename is reported', async () => {
  start()
  for (const text of ['two', 'three']) {
    writeFileSync(join(folder, '.tmp'), text)
    renameSync(join(folder, '.tmp'), file)
    await last(text)
  }
})

test('a link that is switched to another folder is reported', async () => {
  for (const version of ['v1', 'v2', 'v3']) {
    mkdirSync(join(folder, version))
    writeFileSync(join(folder, version, 'hf.yaml'), version)
  }
  symlinkSync('v1', join(folder, '..data'))
  symlinkSync(join('..data', 'hf.yaml'), join(folder, 'hf.yaml'))
  start('v1', join(folder, 'hf.yaml'))
  for (const version of ['v2', 'v3']) {
    symlinkSync(version, join(folder, '..tmp'))
    renameSync(join(folder, '..tmp'), join(folder, '..data'))
    await last(version)
  }
  expect(texts).toEqual(['v2', 'v3'])
})

test('a change of the target of a link is reported', async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'holdfast-target-'))
  try {
    writeFileSync(join(elsewhere, 'real.yaml'), 'one')
    symlinkSync(join(elsewhere, 'real.yaml'), join(folder, 'link.yaml'))
    start('one', join(folder, 'link.yaml'))
    await watching?.check()
    writeFileSync(join(elsewhere, 'real.yaml'), 'two')
    await last('two')
  } finally {
    rmSync(elsewhere, { recursive: true })
  }
})

test('a file that is truncated and then written is reported when it is complete', async () => {
  // On a stopped clock the file is read only by `check`. The clock of the machine can go on between the two writes.
  start('one', file, fakeClock())
  await truncate(file)
  await watching?.check()
  expect(texts).toEqual([])
  await appendFile(file, 'two')
  await watching?.check()
  expect(texts).toEqual(['two'])
})

test('a file that stays empty is reported after several reads', async () => {
  start()
  await truncate(file)
  await last('')
})

test('a file that is deleted and created again is reported', async () => {
  start()
  unlinkSync(file)
  await watching?.check()
  await watching?.check()
  expect(errors).toHaveLength(1)
  writeFileSync(file, 'two')
  await last('two')
  expect(errors).toHaveLength(1)
})

test('a change before the start of the watch is reported', async () => {
  start('zero')
  await last('one')
})

test('changes of other files in the folder are not reported', async () => {
  start()
  writeFileSync(join(folder, 'other.yaml'), 'x')
  await watching?.check()
  expect(texts).toEqual([])
})

test('nothing is reported after close', async () => {
  start()
  watching?.close()
  writeFileSync(file, 'two')
  await watching?.check()
  expect(texts).toEqual([])
})

test('a file that changes continuously is read after at most 200 ms', async () => {
  const clock = fakeClock()
  const told: string[] = []
  watching = createFileWatcher(file, { clock, debounce: 1000, onChange: (text) => void told.push(text) })
  await clock.advance(199)
  expect(told).toEqual([])
  // A late notification of the operating system can restart the debounce time.
  const step = async () => {
    await clock.advance(200)
    expect(told).toEqual(['one'])
  }
  await vi.waitFor(step, { timeout: 60_000, interval: 20 })
})

test('an error of the listener is reported, and the next change still arrives', async () => {
  let calls = 0
  watching = createFileWatcher(file, {
    clock: systemClock,
    text: 'one',
    debounce: 20,
    onChange(text) {
      if (++calls === 1) throw new Error('not this one')
      texts.push(text)
    },
    onError: (error) => void errors.push(error),
  })
  writeFileSync(file, 'two')
  await expect.poll(() => errors).toHaveLength(1)
  writeFileSync(file, 'three')
  await last('three')
})
