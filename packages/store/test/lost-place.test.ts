import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Holdfast } from '../../runtime/src/holdfast/holdfast.js'
import { tempFolder } from './place.js'

const LOSSES: Record<string, (dir: string) => Promise<void>> = {
  'was deleted': (dir) => rm(dir, { recursive: true }),
  'was moved away': (dir) => rename(dir, `${dir}-elsewhere`),
  'has given its place to a file': async (dir) => {
    await rename(dir, `${dir}-elsewhere`)
    await writeFile(dir, '')
  },
}

/** A runtime with a store in a folder that contains one dead letter. */
async function kept(url: (dir: string) => string) {
  const dir = join(await tempFolder(), 'data')
  const hf = await Holdfast.open({ config: { policies: { send: { maxAttempts: 1 } } }, store: url(dir) })
  const enqueue = (itemId: string) =>
    hf.deadLetters.enqueue({ operation: 'send', itemId, payload: { itemId }, error: new Error('down') })
  await enqueue('first')
  return { dir, hf, enqueue }
}

describe.each([
  ['files', (dir: string) => `files:${dir}`],
  ['sqlite', (dir: string) => `sqlite:${join(dir, 'holdfast.db')}`],
])('a folder of a %s store', (_kind, url) => {
  it.each(Object.entries(LOSSES))(
    'that %s acknowledges no entry, does not fail calls, and can be closed',
    async (_, lose) => {
      const { dir, hf, enqueue } = await kept(url)
      await lose(dir)
      const down = new Error('down')
      const call = hf.run('send', () => Promise.reject(down), { payload: { itemId: 'second' } })
      await expect(call).rejects.toBe(down)
      await expect(enqueue('third')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await hf.close()
    },
  )

  it('is used again when it is back', async () => {
    const { dir, hf, enqueue } = await kept(url)
    await rename(dir, `${dir}-elsewhere`)
    await expect(enqueue('second')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await rename(`${dir}-elsewhere`, dir)
    await enqueue('third')
    const { items } = await hf.deadLetters.list()
    expect(items.map(({ itemId }) => itemId)).toEqual(['first', 'third'])
    await hf.close()
  })
})
