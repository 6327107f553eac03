import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/index.js'
import { folder, start } from '../holdfast/setup.js'

describe('a member id with credentials', () => {
  const ids = [
    'http://ann:hunter2@10.0.0.2:80',
    'http://hunter2@10.0.0.2',
    'ann:hunter2@10.0.0.2:80',
    'socks5://a:b/hunter2@h',
  ]

  it.each(ids)('is rejected by addMember: %s', async (id) => {
    const { hf } = await start({ pools: { q: { members: [{ id: 'a', url: 'http://127.0.0.1:1' }] } } })
    const error = await hf.pools
      .addMember('q', { id, url: 'http://127.0.0.1:2' })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('expected an id without credentials'),
    })
    expect(JSON.stringify(error) + String(error)).not.toContain('hunter2')
    expect(await hf.config.history()).toEqual([])
    const unknown = await hf.pools.removeMember('q', id).catch((thrown: unknown) => thrown)
    expect(String(unknown)).not.toContain('hunter2')
  })

  it.each(ids)('is rejected in the config file: %s', (id) => {
    const text = `version: "1.1.0"\npools: { q: { members: [{ id: "${id}", url: "http://127.0.0.1:1" }] } }\n`
    let said = ''
    try {
      parseConfig(text)
    } catch (error) {
      said = JSON.stringify(error) + String(error)
    }
    expect(said).toContain('pools.q.members[0].id')
    expect(said).toContain('expected an id without credentials')
    expect(said).not.toContain('hunter2')
  })

  it('is rejected in a members file', async () => {
    const dir = await folder({
      'holdfast.yaml': 'version: "1.1.0"\nstore: memory\npools: { q: { members_file: m.json } }\n',
      'm.json': JSON.stringify([{ id: ids[0], url: 'http://127.0.0.1:1' }]),
    })
    const error = await start(join(dir, 'holdfast.yaml'), { watch: false }).catch((thrown: unknown) => thrown)
    expect(String(error)).toContain('expected an id without credentials')
    expect(String(error)).not.toContain('hunter2')
  })

  it.each(['ann@example.com', 'http://10.0.0.2:80', '10.0.0.2:80', 'eu-1'])(
    'is not detected in a valid id: %s',
    (id) => {
      const text = `version: "1.1.0"\npools: { q: { members: [{ id: "${id}", url: "http://127.0.0.1:1" }] } }\n`
      expect(parseConfig(text).pools?.q?.members?.[0]?.id).toBe(id)
    },
  )
})
