// While the changes of other processes were loaded, a change of a members file was undone: the members before it were restored.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { folder, start } from '../holdfast/setup.js'

it('the members of a file that changes while API changes are loaded stay those of the file', async () => {
  const dir = await folder({
    'holdfast.yaml': 'version: "1.1.0"\nstore: memory\npools: { q: { members_file: m.txt } }\n',
    'm.txt': 'http://127.0.0.1:1\nhttp://127.0.0.1:2\n',
  })
  const { hf, clock } = await start(join(dir, 'holdfast.yaml'))
  const memberIds = () =>
    hf.pools
      .get('q')
      .members()
      .map(({ id }) => id)
  expect(memberIds()).toEqual(['127.0.0.1:1', '127.0.0.1:2'])

  let continueLoading = () => {}
  vi.spyOn(hf.store.layers, 'latest').mockImplementationOnce(
    () => new Promise((resolve) => (continueLoading = () => resolve(undefined))),
  )
  const refreshed = hf.config.refresh()
  await writeFile(join(dir, 'm.txt'), 'http://127.0.0.1:2\n')
  while (memberIds().length > 1) {
    await clock.advance(100)
    await new Promise(setImmediate)
  }
  continueLoading()
  await refreshed
  expect(memberIds()).toEqual(['127.0.0.1:2'])
})
