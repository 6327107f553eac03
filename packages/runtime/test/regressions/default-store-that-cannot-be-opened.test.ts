import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Holdfast } from '../../src/index.js'
import { folder } from '../holdfast/setup.js'

it('a default store that cannot be opened is reported in one line with how to choose another', async () => {
  const dir = await folder({ 'holdfast.yaml': 'version: "1.2.0"\n' })
  await writeFile(join(dir, 'data'), 'a file where a folder should be')
  const error = await Holdfast.open({ config: join(dir, 'holdfast.yaml'), env: {}, watch: false }).catch(
    (thrown: unknown) => thrown as Error,
  )
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const { message } = error as Error
  expect(message).toMatch(/^the default store sqlite:data\/holdfast\.db cannot be opened: /)
  expect(message).toContain('set store in the config')
  expect(message.split('\n')).toHaveLength(1)
})

it('a configured store that cannot be opened is reported with its own error', async () => {
  const dir = await folder({ 'holdfast.yaml': 'version: "1.2.0"\nstore: sqlite:data/hf.db\n' })
  await mkdir(join(dir, 'data'))
  await mkdir(join(dir, 'data', 'hf.db'))
  const opened = Holdfast.open({ config: join(dir, 'holdfast.yaml'), env: {}, watch: false })
  await expect(opened).rejects.toThrow(/^the SQLite store /)
})
