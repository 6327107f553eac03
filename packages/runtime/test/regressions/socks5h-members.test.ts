import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Holdfast } from '../../src/index.js'

describe('a socks5h:// member', () => {
  it('is accepted in the config file, in a members file and through the API', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'socks5h-'))
    await writeFile(join(dir, 'proxies.txt'), 'socks5h://ann:secret@127.0.0.1:9002\n')
    const hf = await Holdfast.open({
      watch: false,
      config: {
        version: '1.1.0',
        pools: {
          proxies: {
            members: [{ id: 'own', url: 'socks5h://ann:secret@127.0.0.1:9001' }],
            membersFile: join(dir, 'proxies.txt'),
          },
        },
      },
    })
    try {
      await hf.pools.addMember('proxies', { url: 'socks5h://127.0.0.1:9003' })
      const ids = hf.pools
        .get('proxies')
        .members()
        .map(({ id }) => id)
      expect(ids.toSorted()).toEqual(['127.0.0.1:9002', '127.0.0.1:9003', 'own'])
    } finally {
      await hf.close()
    }
  })
})
