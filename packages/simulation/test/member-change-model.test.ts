import { describe, expect, it } from 'vitest'
import { Scheduler } from '../src/engine/scheduler.js'
import { Choices } from '../src/engine/seeded-random.js'
import { MemberChangeModel } from '../src/invariants/member-change-model.js'

const MEMBER = 'm0' as never
const process = { name: 'n0', isAlive: true } as never

/** A runtime whose pool has the member, in use, or does not have it. */
const runtimeWith = (hasMember: boolean) =>
  ({
    pools: {
      get: () => ({ members: () => (hasMember ? [{ id: MEMBER }] : []), status: () => 'available' }),
    },
  }) as never

const createModel = () => new MemberChangeModel(new Scheduler(new Choices(1).random), () => 'store')

describe('the model of live changes', () => {
  it('finds a change that was acknowledged and does not apply', () => {
    const change = createModel().onStarted(process, runtimeWith(true), 'remove', MEMBER)
    expect(() => change.onAcknowledged()).toThrow('m0 in use after remove was acknowledged')
  })

  it('accepts either order of changes that overlapped, also if one of them has ended', () => {
    const model = createModel()
    const enable = model.onStarted(process, runtimeWith(false), 'enable', MEMBER)
    const remove = model.onStarted(process, runtimeWith(false), 'remove', MEMBER)
    remove.onAcknowledged()
    expect(() => enable.onAcknowledged()).not.toThrow()
  })
})
