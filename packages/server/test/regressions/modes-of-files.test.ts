import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startDemo } from '../../src/demo/demo.js'
import { World } from '../cli/world.js'

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

/** Modes are those that a process with the usual umask gives. */
function withUmask(): void {
  const before = process.umask(0o022)
  onTestFinished(() => void process.umask(before))
}

test('init writes a file that others may read, because it holds no secret', async () => {
  withUmask()
  const world = new World()
  expect((await world.run(['init', '--yes'])).code).toBe(0)
  expect(modeOf(world.path('holdfast.yaml'))).toBe('644')
})

test('migrate writes a file for its owner alone, because old settings may hold secrets', async () => {
  withUmask()
  const world = new World({ 'old.json': '{ "a": { "maxRetries": 4 } }' })
  expect((await world.run(['migrate', 'old.json', '--out', 'new.yaml'])).code).toBe(0)
  expect(modeOf(world.path('new.yaml'))).toBe('600')
})

test.each([
  ['is new', undefined, '700'],
  ['is of an earlier demonstration', 'demo.yaml', '700'],
  ['is in use for something else', 'orders.db', '755'],
])('the data folder of the demonstration has the right mode where it %s', async (_, file, mode) => {
  withUmask()
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-modes-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const data = join(dir, 'data')
  if (file !== undefined) {
    mkdirSync(data)
    chmodSync(data, 0o755)
    writeFileSync(join(data, file), '')
  }
  const demo = await startDemo({ dir, warn: () => undefined, port: 0, proxy: { port: 0 } })
  await demo.close()
  expect(modeOf(data)).toBe(mode)
})
