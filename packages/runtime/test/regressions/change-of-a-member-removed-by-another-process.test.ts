import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folder, start } from '../holdfast/setup.js'

const FILE = `version: "1.1.0"
store: sqlite:holdfast.db
pools: { p: { members: [{ id: a, url: "http://a.example" }, { id: b, url: "http://b.example" }] } }
`

it.each(['a', 'added'])('does not add the member %s again', async (id) => {
  const config = join(await folder({ 'holdfast.yaml': FILE }), 'holdfast.yaml')
  const first = await start(config, { watch: false })
  await first.hf.pools.addMember('p', { id: 'added', url: 'http://c.example' })
  const second = await start(config, { watch: false })
  await first.hf.pools.removeMember('p', id)
  // The second process has not read the removal yet.
  await expect(second.hf.pools.changeMember('p', id, { weight: 3 })).rejects.toMatchObject({
    code: 'INVALID_OPTIONS',
  })
  expect(await first.hf.config.history()).toHaveLength(2)
})
