import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '../src/open/open-store.js'
import { tempFolder } from './place.js'

describe('openStore', () => {
  it.each(['memory', 'memory:'])('opens a store in memory for %s', async (url) => {
    const store = await openStore(url)
    expect(store.kind).toBe('memory')
    await store.close()
  })

  it('opens a store in files, relative to the given folder', async () => {
    const dir = await tempFolder()
    const store = await openStore('files:data', { dir })
    expect(store.kind).toBe('files')
    expect(existsSync(join(dir, 'data/dlq'))).toBe(true)
    await store.close()
    const absolute = await openStore(`files:${join(dir, 'elsewhere')}`, { dir: '/nowhere' })
    expect(existsSync(join(dir, 'elsewhere/dlq'))).toBe(true)
    await absolute.close()
  })

  it('opens a store in SQLite', async () => {
    const dir = await tempFolder()
    const store = await openStore('sqlite:data/holdfast.db', { dir })
    expect(store.kind).toBe('sqlite')
    expect(existsSync(join(dir, 'data/holdfast.db'))).toBe(true)
    await store.close()
  })

  it.each([
    ['redis://user:secret@host', "unknown scheme 'redis:'"],
    ['constructor:x', "unknown scheme 'constructor:'"],
    ['', 'got a url without a scheme'],
    ['/var/data', 'got a url without a scheme'],
    ['files:', "got no location after 'files:'"],
    ['sqlite', "got no location after 'sqlite:'"],
    ['memory:x', "got a location after 'memory:'"],
    ['postgres:database', "got 'postgres:' without a host"],
  ])('rejects %j with the expected forms', async (url, problem) => {
    const error = (await openStore(url).catch((failure: unknown) => failure)) as Error
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS' })
    expect(error.message).toContain(problem)
    expect(error.message).toContain(
      'expected memory, files:DIR, sqlite:FILE or postgres://HOST/DATABASE, got ',
    )
    expect(error.message).not.toContain('secret')
  })
})
