import type { Holdfast } from '@holdfast/runtime'
import { memberUrl } from '../cluster/config.js'
import { type MemberChange, type MemberId, POOL } from '../scenario/scenario.js'

/** Makes a live change of a member of the pool, as an operator does through the API. */
export async function changeMember(
  { pools }: Holdfast,
  change: MemberChange,
  member: MemberId,
  actor: { by: string },
): Promise<unknown> {
  const add = () => pools.addMember(POOL, { id: member, url: memberUrl(member) }, actor)
  switch (change) {
    case 'drain':
      return pools.changeMember(POOL, member, { draining: true }, actor)
    case 'disable':
      return pools.changeMember(POOL, member, { enabled: false }, actor)
    case 'enable':
      return pools.changeMember(POOL, member, { enabled: true }, actor)
    case 'remove':
      return pools.removeMember(POOL, member, actor)
    case 'add':
      return add()
    case 'replace':
      await pools.removeMember(POOL, member, actor)
      return add()
    case 'restore': {
      const pool = pools.get(POOL)
      if (!pool.members().some(({ id }) => id === member)) return add()
      if (pool.status(member) === 'drained') return pools.changeMember(POOL, member, { enabled: true }, actor)
      return undefined
    }
  }
}
