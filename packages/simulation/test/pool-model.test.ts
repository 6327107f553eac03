import type { Holdfast } from '@holdfast/runtime'
import { Pool } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { PoolModel } from '../src/invariants/pool-model.js'
import type { Process, SimulatedNode } from '../src/process/simulated-node.js'

describe('members of a pool', () => {
  const clock = fakeClock()
  const process = { name: 'n1.1', isAlive: true, clock } as unknown as Process
  let pool: Pool
  let model: PoolModel
  let nodes: SimulatedNode[]

  beforeEach(() => {
    pool = new Pool({
      id: 'proxies',
      members: ['m0', 'm1', 'm2', 'm3'].map((id) => ({ id, value: id })),
      clock,
    })
    const runtime = { pools: { get: () => pool } } as unknown as Holdfast
    nodes = [
      { name: 'n1', process, runtime },
      { name: 'n2', runtime },
    ] as unknown as SimulatedNode[]
    model = new PoolModel((fn) => fn(), { poolShare: 'state', persists: false })
    model.onStarted(process, runtime)
  })

  it('must exist and be enabled when they are used', () => {
    pool.remove('m0')
    expect(() => model.onAttemptStarted(process, 'm0')).toThrow(
      'members: n1.1 uses m0, which is not in the pool',
    )
    pool.drain('m1')
    expect(() => model.onAttemptStarted(process, 'm1')).toThrow('which is drained')
    pool.enable('m1')
    model.onAttemptStarted(process, 'm1')
  })

  it('must not be used during a cooldown or while their breaker is open', () => {
    model.onAttemptEnded(model.onAttemptStarted(process, 'm0'), 'limited', 5000)
    expect(() => model.onAttemptStarted(process, 'm0')).toThrow('which has a cooldown for 5000 ms')
    pool.breaker('m1').trip()
    expect(() => model.onAttemptStarted(process, 'm1')).toThrow('which has an open breaker')
  })

  it('must be selectable when an attempt could use them', () => {
    pool.breaker('m1').trip({ duration: 5000 })
    pool.startCooldown('m2', 5000)
    model.onAttemptStarted(process, 'm0')
    const { availability } = pool as unknown as { availability: { availableCount: number } }
    availability.availableCount = 1
    expect(() => model.onAttemptStarted(process, 'm0')).toThrow(
      'members: n1.1 can select 1 members, expected m0, m3',
    )
  })

  it('must know a cooldown of another node', () => {
    model.onAttemptEnded(model.onAttemptStarted(process, 'm0'), 'limited', 5000)
    expect(() => model.checkCooldownKnown(nodes, 'n1')).toThrow('although n1 has started its cooldown')
    pool.startCooldown('m0', 5000)
    model.checkCooldownKnown(nodes, 'n1')
  })

  it('must not be changed by the outcome of a removed member', () => {
    const attempt = model.onAttemptStarted(process, 'm0')
    pool.remove('m0')
    pool.add({ id: 'm0', value: 'm0' })
    model.onAttemptEnded(attempt, 'failed')
    model.onEventEnded()
    const late = model.onAttemptStarted(process, 'm1')
    pool.remove('m1')
    model.onAttemptEnded(late, 'failed')
    pool.breaker('m0').trip()
    expect(() => model.onEventEnded()).toThrow('members: n1.1 counted the outcome of a removed member')
  })

  it('must be available at the end', () => {
    model.checkAvailable(nodes)
    pool.drain('m3')
    expect(() => model.checkAvailable(nodes)).toThrow('members: m3 is drained on n1')
  })
})
