import { idProblem } from '../members/members.js'
import { formatValue } from '../problems/format-value.js'
import type { ReportProblem, RuleContext } from './rule-context.js'

/** Checks that the members of each pool have unique ids (by default host and port), and that no id contains a secret. */
export function checkMembers(
  { config, formatLocation, formatValueAt, isFromVariable }: RuleContext,
  report: ReportProblem,
): void {
  for (const [pool, { members = [] }] of Object.entries(config.pools ?? {})) {
    const firstIndexById = new Map<string, number>()
    for (const [i, member] of members.entries()) {
      const idError = member.id && idProblem(member.id)
      if (idError) {
        const { code, expected, got } = idError
        report(['pools', pool, 'members', `${i}`, 'id'], { code, expected, got })
      }
      const id = member.id ?? new URL(member.url).host
      const first = firstIndexById.get(id)
      if (first === undefined) {
        firstIndexById.set(id, i)
        continue
      }
      const path = ['pools', pool, 'members', `${i}`, member.id === undefined ? 'url' : 'id']
      const host = isFromVariable(path) ? 'a value that is not shown' : formatValue(id)
      const got = member.id === undefined ? `${host} (its host, because it has no id)` : formatValueAt(path)
      const other = formatLocation(['pools', pool, 'members', `${first}`])
      report(path, {
        code: 'conflict',
        expected: 'a unique id',
        got: `${got}, which is also the id of ${other}`,
      })
    }
  }
}
