import { CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { EjectedMembers } from '../../src/ejected-members.js'
import { FleetBreakers } from '../../src/fleet-breakers.js'
import { LIST_EJECTED, READMIT, type RedisScript, SYNC } from '../../src/lua/scripts.js'
import type { RedisConnection } from '../../src/redis-connection.js'

// Two reads of the ejected members at once: the second one found the breaker attached, and closed because its state had not
// arrived, and removed the member from the list. Nodes that started later did not know that the member was ejected.

const ID = 'pool:p:m'
const EPOCH = 17_672_278_472_043

/** A node that reads the ejected members of a pool, with the state that Redis has of the only one. */
function createNode(
  stored: { epoch: number; state: string },
  onRun: (script: RedisScript) => void = () => {},
) {
  const clock = fakeClock()
  const breaker = new CircuitBreaker({ id: ID, clock })
  const scripts: RedisScript[] = []
  const state = { id: ID, node: 'other', left: 1000, openFor: 1000, openings: 1, failures: 3, off: false }
  const redis = {
    isUp: true,
    run: async (script: RedisScript) => {
      scripts.push(script)
      onRun(script)
      if (script === LIST_EJECTED) return [ID, String(EPOCH)]
      if (script !== SYNC) return 1
      // The reply arrives after those of the commands that do not wait for it.
      for (let i = 0; i < 20; i++) await Promise.resolve()
      return JSON.stringify({ ...state, ...stored, tripFor: 0, now: EPOCH / 10, settings: '', by: 'n' })
    },
  } as unknown as RedisConnection
  const parts = {
    redis,
    node: 'n',
    liveNodes: () => 2,
    countNodes: async () => 2,
    onSynced: () => {},
    onSettingsFound: async () => {},
    onOpenSince: () => {},
    onInvalidReply: (problem: string) => expect.fail(problem),
  }
  const options = { share: 'state', quorum: 0.5, minimumCalls: 1 } as const
  const breakers = new FleetBreakers(clock, parts, () => ({ breaker, options, calls: 0 }))
  const ejected = new EjectedMembers(
    redis,
    (id) => breakers.findAndAttach(id),
    (breakerLink) => breakers.sync(breakerLink),
    parts.onInvalidReply,
  )
  return { breaker, ejected, scripts }
}

describe('two reads of the ejected members at once', () => {
  it('keep a member whose breaker is open', async () => {
    const { breaker, ejected, scripts } = createNode({ epoch: EPOCH, state: 'open' })
    await Promise.all([ejected.setPools(['p']), ejected.refresh()])
    expect(breaker.currentState).toBe('open')
    expect(scripts).not.toContain(READMIT)
  })

  it('remove a member whose breaker the fleet has closed', async () => {
    const { ejected, scripts } = createNode({ epoch: EPOCH + 1, state: 'closed' })
    await Promise.all([ejected.setPools(['p']), ejected.refresh()])
    expect(scripts).toContain(READMIT)
  })

  it('remove a member whose state Redis has lost', async () => {
    const { ejected, scripts } = createNode({ epoch: 0, state: 'closed' })
    await ejected.setPools(['p'])
    expect(scripts).toContain(READMIT)
  })

  it('keep a member whose breaker could not be read', async () => {
    const { ejected, scripts } = createNode({ epoch: EPOCH, state: 'open' }, (script) => {
      if (script === SYNC) throw new Error('no reply within 2000 ms')
    })
    await ejected.setPools(['p'])
    expect(scripts).not.toContain(READMIT)
  })
})
