import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Holdfast } from '../../src/index.js'

const MEMBERS = [
  {
    id: 'same',
    url: 'http://10.0.0.1:80',
    weight: 2,
    tags: ['a'],
    circuit_breaker: { failure_threshold: 3 },
  },
  { id: 'weight', url: 'http://10.0.0.2:80', weight: 2 },
  { id: 'tags', url: 'http://10.0.0.3:80', tags: ['a'] },
  { id: 'fewer', url: 'http://10.0.0.4:80', region: 'eu' },
  { id: 'more', url: 'http://10.0.0.5:80' },
  { id: 'other', url: 'http://10.0.0.6:80', region: 'eu' },
]
const CHANGES: Readonly<Record<string, object>> = {
  weight: { weight: 3 },
  tags: { tags: ['b'] },
  fewer: { region: undefined },
  more: { region: 'us' },
  other: { region: undefined, cost: 1 },
}

it('a reload updates exactly the members whose entries have changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-members-'))
  const config = join(folder, 'holdfast.json')
  const write = (members: object[]) =>
    writeFileSync(config, JSON.stringify({ version: '1.2.0', store: 'memory', pools: { some: { members } } }))
  write(MEMBERS)
  const hf = await Holdfast.open({ config, env: {}, watch: false })
  onTestFinished(async () => {
    await hf.close()
    rmSync(folder, { recursive: true })
  })
  const updateMember = vi.spyOn(
    hf.pools.get('some') as unknown as { updateMember(member: { id: string }): void },
    'updateMember',
  )
  write(MEMBERS.map((member) => ({ ...member, ...CHANGES[member.id] })))
  await hf.config.reload()
  expect(updateMember.mock.calls.map(([{ id }]) => id)).toEqual(Object.keys(CHANGES))
  expect(hf.pools.get('some').members()).toMatchObject([
    { id: 'same', weight: 2, tags: ['a'] },
    { id: 'weight', weight: 3 },
    { id: 'tags', tags: ['b'] },
    { id: 'fewer' },
    { id: 'more', region: 'us' },
    { id: 'other', cost: 1 },
  ])
})
