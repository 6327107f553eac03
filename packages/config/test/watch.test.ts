import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { appendFile, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

function start(text: string | undefined = 'one', path = file): void {
  watching = createFileWatcher(path, {
    clock: systemClock,
    text,
    debounce: 50,
    onChange: (changed) => void texts.push(changed),
    onError: (error) => void errors.push(error),
  })
}

const last = (text: string) =>
  vi.waitFor(() => expect(texts.at(-1)).toBe(text), { timeout: 20_000, interval: 20 })

test('a file that is written anew is told of once', async () => {
  start()
  writeFileSync(file, 'two')
  await last('two')
  await watching?.check()
  expect(texts).toEqual(['two'])
})

test('another file in its place, as editors do it', async () => {
  start()
  for (const text of ['two', 'three']) {
    writeFileSync(join(folder, '.tmp'), text)
    renameSync(join(folder, '.tmp'), file)
    await last(text)
  }
})

test('another folder behind a link, as deployments do it', async () => {
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

test('a file that a link elsewhere leads to', async () => {
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

test('a file that is emptied and then written is told of when it is whole', async () => {
  start()
  await truncate(file)
  await watching?.check()
  expect(texts).toEqual([])
  await appendFile(file, 'two')
  await last('two')
  expect(texts).not.toContain('')
})

test('a file that stays empty is told of in the end', async () => {
  start()
  await truncate(file)
  await last('')
})

test('a file that is deleted and made again', async () => {
  start()
  unlinkSync(file)
  await watching?.check()
  await watching?.check()
  expect(errors).toHaveLength(1)
  writeFileSync(file, 'two')
  await last('two')
  expect(errors).toHaveLength(1)
})

test('what changed before the watch began is told of', async () => {
  start('zero')
  await last('one')
})

test('other files of the folder change nothing', async () => {
  start()
  writeFileSync(join(folder, 'other.yaml'), 'x')
  await watching?.check()
  expect(texts).toEqual([])
})

test('nothing is told after the end', async () => {
  start()
  watching?.close()
  writeFileSync(file, 'two')
  await watching?.check()
  expect(texts).toEqual([])
})

test('a file is left alone for 200 ms at the most', async () => {
  const clock = fakeClock()
  const told: string[] = []
  watching = createFileWatcher(file, { clock, debounce: 1000, onChange: (text) => void told.push(text) })
  await clock.advance(199)
  expect(told).toEqual([])
  // What the system tells late may begin the time anew.
  const step = async () => {
    await clock.advance(200)
    expect(told).toEqual(['one'])
  }
  await vi.waitFor(step, { timeout: 20_000, interval: 20 })
})

test('a listener that throws is told of, and the next change still comes', async () => {
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
  await vi.waitFor(() => expect(errors).toHaveLength(1), { timeout: 20_000 })
  writeFileSync(file, 'three')
  await last('three')
})
