import { idProblem } from '../layer/members.js'
import { show } from '../problem.js'
import type { Facts, Tell } from './facts.js'

/** Checks that the members of each pool can be told apart: by their ids, and without one by host and port; and that no id is a secret. */
export function checkMembers({ config, where }: Facts, problem: Tell): void {
  for (const [pool, { members = [] }] of Object.entries(config.pools ?? {})) {
    const known = new Map<string, number>()
    for (const [i, member] of members.entries()) {
      const wrong = member.id && idProblem(member.id)
      if (wrong) problem(['pools', pool, 'members', `${i}`, 'id'], wrong)
      const id = member.id ?? new URL(member.url).host
      const first = known.get(id)
      if (first === undefined) {
        known.set(id, i)
        continue
      }
      const path = ['pools', pool, 'members', `${i}`, member.id === undefined ? 'url' : 'id']
      const name = show(id)
      const got = member.id === undefined ? `has no id, so that its host ${name} is its name` : `got ${name}`
      const other = where(['pools', pool, 'members', `${first}`])
      problem(path, `${got}, but another member has it: ${other}; give each an id of its own`)
    }
  }
}
