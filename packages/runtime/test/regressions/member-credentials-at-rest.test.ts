import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Holdfast } from '../../src/index.js'
import { folder } from '../holdfast/setup.js'

const newKey = () => randomBytes(32).toString('base64')
const URL_WITH_PASSWORD = 'http://ann:s3cr3t-pw@10.0.0.1:8080/'

/** Opens a runtime over a folder with these keys, and closes it after the work. */
async function withKeys<T>(
  dir: string,
  keys: readonly string[],
  work: (hf: Holdfast) => Promise<T>,
): Promise<T> {
  const hf = await Holdfast.open({
    config: {
      pools: { p: { members: [{ id: 'filed', url: 'http://10.0.0.9:1' }] } },
      ...(keys.length > 0 && { deadLetters: { encryptionKey: keys } }),
    },
    store: `files:${dir}`,
    env: {},
  })
  try {
    return await work(hf)
  } finally {
    await hf.close()
  }
}

/** Everything that the folder of changes holds. */
async function stored(dir: string): Promise<string> {
  const names = await readdir(join(dir, 'layers'))
  return (await Promise.all(names.map((name) => readFile(join(dir, 'layers', name), 'utf8')))).join('\n')
}

const urlOf = (hf: Holdfast, id = 'added') =>
  (hf.config.layer.pools?.p?.members?.[id] as { url?: string } | undefined)?.url
const add = (hf: Holdfast, id = 'added') =>
  hf.pools.addMember('p', { id, url: URL_WITH_PASSWORD }, { by: 'ops' })

describe('credentials of members that are added through the API', () => {
  it('are encrypted at rest with a key, and used after a restart', async () => {
    const [dir, key] = [await folder(), newKey()]
    await withKeys(dir, [key], async (hf) => {
      await add(hf)
      await hf.pools.addMember('p', { id: 'open', url: 'http://10.0.0.2:1' }, { by: 'ops' })
    })
    expect(await stored(dir)).not.toContain('s3cr3t-pw')
    expect(await stored(dir)).not.toContain('ann')
    expect(await stored(dir)).toContain('10.0.0.2')
    await withKeys(dir, [key], async (hf) => {
      expect(urlOf(hf)).toBe(URL_WITH_PASSWORD)
      expect(hf.pools.get('p').members()).toHaveLength(3)
      await hf.pools.changeMember('p', 'added', { weight: 3 }, { by: 'ops' })
      expect(urlOf(hf)).toBe(URL_WITH_PASSWORD)
    })
    expect(await stored(dir)).not.toContain('s3cr3t-pw')
  })

  it('that were stored in clear text before are read, and encrypted by the next change', async () => {
    const [dir, key] = [await folder(), newKey()]
    await withKeys(dir, [], (hf) => add(hf))
    expect(await stored(dir)).toContain('s3cr3t-pw')
    await withKeys(dir, [key], async (hf) => {
      expect(urlOf(hf)).toBe(URL_WITH_PASSWORD)
      await hf.pools.changeMember('p', 'added', { weight: 2 }, { by: 'ops' })
      expect(JSON.stringify((await hf.store.layers.latest())?.layer)).not.toContain('s3cr3t-pw')
    })
  })

  it('are encrypted with the newest key by a rotation, in every version', async () => {
    const [dir, old, next] = [await folder(), newKey(), newKey()]
    await withKeys(dir, [], (hf) => add(hf, 'clear'))
    await withKeys(dir, [old], (hf) => add(hf))
    expect(await stored(dir)).toContain('s3cr3t-pw')
    await withKeys(dir, [next, old], async (hf) => {
      expect(await hf.deadLetters.rotate()).toEqual({ rewritten: 2, unreadable: [] })
      expect(await hf.deadLetters.rotate()).toEqual({ rewritten: 0, unreadable: [] })
    })
    expect(await stored(dir)).not.toContain('s3cr3t-pw')
    await withKeys(dir, [next], async (hf) => {
      expect([urlOf(hf, 'clear'), urlOf(hf)]).toEqual([URL_WITH_PASSWORD, URL_WITH_PASSWORD])
      await hf.config.rollback(1, { by: 'ops' })
      expect([urlOf(hf, 'clear'), urlOf(hf)]).toEqual([URL_WITH_PASSWORD, undefined])
    })
  })

  it('are not read without their key, which is reported, and are not lost', async () => {
    const [dir, key] = [await folder(), newKey()]
    await withKeys(dir, [key], (hf) => add(hf))
    const error = await withKeys(dir, [newKey()], async () => 'opened').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
    expect((error as Error).message).toContain('pools.p.members.added.url')
    expect((error as Error).message).toContain('dead_letters.encryption_key')
    expect((error as Error).message).not.toContain('s3cr3t')
    await withKeys(dir, [key], async (hf) => expect(urlOf(hf)).toBe(URL_WITH_PASSWORD))
  })

  it('cannot be moved to another member', async () => {
    const [dir, key] = [await folder(), newKey()]
    await withKeys(dir, [key], (hf) => add(hf))
    await withKeys(dir, [key], async (hf) => {
      const latest = await hf.store.layers.latest()
      const moved = JSON.parse(JSON.stringify(latest?.layer).replace('"added"', '"other"'))
      await hf.store.layers.rewrite(latest?.version ?? 0, moved)
    })
    await expect(withKeys(dir, [key], async () => 'opened')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})
