import { describe, expect, it } from 'vitest'
import type { Member, Pool, StrategyName } from '../../src/index.js'
import type { Selection } from '../../src/pool/members/member-pool.js'
import { seededRandom } from '../../src/testing/index.js'
import { histories } from '../histories.js'
import { createPool, FAILURE, SUCCESS } from './setup.js'

const HISTORIES = histories(500)

/** Whether a member can be selected now, according to the public API. */
function isCandidate(pool: Pool<string>, { id }: Member, now: number): boolean {
  const status = pool.status(id)
  return status === 'open'
    ? (pool.breaker(id).nextTestTime as number) <= now
    : status === 'available' || status === 'half_open' // all probes have ended
}

describe.each<StrategyName>(['random', 'weighted', 'least_latency', 'score', 'sticky'])(
  'the selection by %s',
  (strategy) => {
    it(`is never an unavailable member, nor a tried one while others are available, in ${HISTORIES} histories`, async () => {
      for (let seed = 1; seed <= HISTORIES; seed++) {
        const random = seededRandom(seed)
        const below = (count: number) => Math.floor(random() * count)
        const count = 1 + below(seed % 10 === 0 ? 90 : 12)
        const members = Array.from({ length: count }, (_, i) => ({
          id: `m${i}`,
          value: '',
          weight: below(4),
        }))
        const { pool, clock } = createPool({
          strategy,
          members,
          random,
          breaker: { failureThreshold: 2, timeoutDuration: 50 },
        })
        let next = count
        for (let step = 0; step < 40; step++) {
          const all = pool.members()
          const somebody = all[below(all.length)]?.id
          const kind = below(10)
          if (kind === 0) await clock.advance(below(40))
          else if (kind === 1) pool.add({ id: `m${next++}`, value: '', weight: below(4) })
          else if (somebody === undefined) continue
          else if (kind === 2) pool.remove(somebody)
          else if (kind === 3) pool.drain(somebody)
          else if (kind === 4) pool.enable(somebody)
          else if (kind === 5) pool.breaker(somebody).trip()
          else {
            const selections: Selection<string>[] = []
            for (let attempt = 0; attempt < 1 + below(4); attempt++) {
              const candidates = pool.members().filter((member) => isCandidate(pool, member, clock.wall()))
              const untried = candidates.filter(
                (member) => !selections.some((selection) => selection.member === member),
              )
              const selection = pool.select({}, selections, undefined)
              const allowed = untried.length > 0 ? untried : candidates
              if (
                allowed.length === 0
                  ? selection !== undefined
                  : !allowed.includes(selection?.member as Member<string>)
              )
                throw new Error(`history ${seed}, step ${step}: ${selection?.member.id} was chosen`)
              if (selection === undefined) break
              selections.push(selection)
              pool.recordOutcome(selection, below(2) === 0 ? SUCCESS : FAILURE, selections)
            }
          }
        }
      }
      expect(true).toBe(true)
    })
  },
)
