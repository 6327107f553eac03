import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'holdfast'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  type ProxyFileChanges,
  type ProxyUpstream,
  proxyMember,
  proxyPool,
  type WatchOptions,
  watchProxyFile,
} from '../src/index.js'

let file: string
let pool: Pool<ProxyUpstream>

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-proxies-'))
  file = join(folder, 'proxies.txt')
  pool = proxyPool({ id: 'proxies' })
  return () => rm(folder, { recursive: true })
})

const ids = (): string[] =>
  pool
    .members()
    .map(({ id }) => id)
    .sort()

async function watched(options: WatchOptions = {}) {
  const watcher = await watchProxyFile(file, pool, options)
  onTestFinished(() => watcher.close())
  return watcher
}

describe('watchProxyFile', () => {
  it('fills the pool, and adds, removes and replaces members when the file changes', async () => {
    await writeFile(file, 'http://a.example:1\nhttp://b.example:2\nhttp://u:one@c.example:3')
    const watcher = await watched()
    expect(ids()).toEqual(['a.example:1', 'b.example:2', 'c.example:3'])
    const kept = pool.members().find(({ id }) => id === 'b.example:2')
    await writeFile(file, 'http://b.example:2\nhttp://u:two@c.example:3\nhttp://d.example:4')
    expect(await watcher.reload()).toEqual({
      added: ['d.example:4'],
      removed: ['a.example:1'],
      replaced: ['c.example:3'],
    })
    expect(ids()).toEqual(['b.example:2', 'c.example:3', 'd.example:4'])
    expect(pool.members().find(({ id }) => id === 'b.example:2')).toBe(kept)
    expect(await watcher.reload()).toEqual({ added: [], removed: [], replaced: [] })
  })

  it('does not change members from elsewhere, and does not add members again that an operator removed', async () => {
    pool.add(proxyMember('http://own.example:1', { weight: 9 }))
    await writeFile(file, 'http://own.example:1\nhttp://a.example:1')
    const watcher = await watched()
    expect(pool.members().find(({ id }) => id === 'own.example:1')?.weight).toBe(9)
    pool.remove('a.example:1')
    await writeFile(file, 'http://a.example:1\nhttp://b.example:2')
    await watcher.reload()
    expect(ids()).toEqual(['b.example:2', 'own.example:1'])
  })

  it('reads the file again when it is written, and when another file is renamed to it', async () => {
    await writeFile(file, 'http://a.example:1')
    const heard: ProxyFileChanges[] = []
    let told = (): void => {}
    await watched({
      debounce: '1ms',
      onChange: (changes) => {
        if (changes.added.length > 0) heard.push(changes)
        told()
      },
    })
    const added = async (id: string): Promise<void> => {
      while (!ids().includes(id))
        await new Promise<void>((resolve) => {
          told = resolve
        })
    }
    await writeFile(file, 'http://b.example:2')
    await added('b.example:2')
    await writeFile(`${file}.new`, 'http://c.example:3')
    await rename(`${file}.new`, file)
    await added('c.example:3')
    await writeFile(`${file}.new`, 'http://d.example:4')
    await rename(`${file}.new`, file)
    await added('d.example:4')
    expect(ids()).toEqual(['d.example:4'])
    expect(heard.length).toBeGreaterThanOrEqual(3)
  })

  it('keeps the members while the file is invalid, and reports the error without a password', async () => {
    await writeFile(file, 'http://a.example:1')
    let heard: (error: unknown) => void = () => {}
    const error = new Promise<unknown>((resolve) => {
      heard = resolve
    })
    await watched({ debounce: '1ms', onError: heard })
    await writeFile(file, 'ftp://u:hunter2@a.example:1')
    expect(String(await error)).toContain('line 1')
    expect(String(await error)).not.toContain('hunter2')
    expect(ids()).toEqual(['a.example:1'])
  })

  it('rejects a file that is missing or invalid at the start', async () => {
    await expect(watchProxyFile(file, pool)).rejects.toMatchObject({ code: 'ENOENT' })
    await writeFile(file, 'ftp://a.example')
    await expect(watchProxyFile(file, pool)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('ignores changes after close', async () => {
    await writeFile(file, 'http://a.example:1')
    const watcher = await watched()
    watcher.close()
    await writeFile(file, 'http://b.example:2')
    expect(await watcher.reload()).toEqual({ added: [], removed: [], replaced: [] })
    expect(ids()).toEqual(['a.example:1'])
  })
})
