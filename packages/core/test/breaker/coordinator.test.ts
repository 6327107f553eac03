// A breaker with a coordinator: what it reports and requests, and how it applies the state of other nodes.
import { describe, expect, it } from 'vitest'
import type { BreakerCoordinator, RemoteBreakerState } from '../../src/breaker/coordinator.js'
import type { CircuitBreaker, CircuitBreakerOptions } from '../../src/index.js'
import { admitted, fail, made, opened, succeed } from './setup.js'

/** A coordinator that records its calls; probes are allowed from `probeAllowedAt` on. */
class Heard implements BreakerCoordinator {
  isProbeWanted = false
  until = Number.NEGATIVE_INFINITY
  readonly said: unknown[][] = []
  probeAllowedAt = (lease: number, now: number) => (this.said.push(['turn', lease, now]), this.until)
  onProbeStarted = ({ leaseEnd }: { leaseEnd: number }, lease: number) =>
    void this.said.push(['begun', leaseEnd, lease])
  onProbeEnded = (_: unknown, verdict: unknown) => void this.said.push(['ended', verdict])
  onResult = (phase: string, failed: boolean) => void this.said.push(['counted', phase, failed])
  onCommand = (order: string) => void this.said.push(['ordered', order])

  /** The calls since the last read. */
  take = () => this.said.splice(0)
}

function linked<T extends { breaker: CircuitBreaker }>(of: T): T & { link: Heard } {
  const link = new Heard()
  of.breaker.coordinator = link
  return { ...of, link }
}

const open = async (options: CircuitBreakerOptions = {}) => {
  const all = linked(opened(options))
  await all.clock.advance(1000)
  return all
}

describe('a breaker with a coordinator', () => {
  it('reports each result, with the state it was counted in', () => {
    const { breaker, link } = linked(made({ failureThreshold: 2 }))
    succeed(breaker)
    fail(breaker, 2)
    expect(link.take()).toEqual([
      ['counted', 'closed', false],
      ['counted', 'closed', true],
      ['counted', 'closed', true],
    ])
    expect(breaker.state).toBe('open')
  })

  it('does not report results while it is disabled, nor ignored ones', () => {
    const { breaker, link } = linked(made())
    admitted(breaker).ignore()
    breaker.disable()
    expect(link.take()).toEqual([['ordered', 'disable']])
    succeed(breaker)
    expect(link.take()).toEqual([])
  })

  it('reports operator commands after they were applied, and not those without effect', () => {
    const { breaker, link } = linked(made())
    breaker.enable()
    breaker.trip()
    breaker.trip()
    breaker.reset()
    breaker.disable()
    breaker.trip()
    breaker.reset()
    breaker.enable()
    expect(link.take().map(([, order]) => order)).toEqual(['trip', 'trip', 'reset', 'disable', 'enable'])
  })

  it('wants a probe as soon as a call was rejected', () => {
    const { breaker, link } = linked(opened())
    expect(link.isProbeWanted).toBe(false)
    expect(breaker.admit()).toBeUndefined()
    expect(link.isProbeWanted).toBe(true)
    expect(link.take()).toEqual([])
  })

  it('requests a probe with its lease, and reports its start and its outcome', async () => {
    const { breaker, link, clock } = await open({ probeLease: 300 })
    const test = admitted(breaker)
    const now = clock.now()
    expect(breaker.state).toBe('half_open')
    expect(link.take()).toEqual([
      ['turn', 300, now],
      ['turn', 300, now],
      ['begun', now + 300, 300],
    ])
    test.success()
    expect(link.take()).toEqual([
      ['ended', 'success'],
      ['counted', 'half_open', false],
    ])
    expect(breaker.state).toBe('closed')
  })

  it('reports a failed probe, a slow one as failed, and a late one without an outcome', async () => {
    const failed = await open()
    admitted(failed.breaker).failure()
    expect(failed.link.take().slice(-2)).toEqual([
      ['ended', 'failure'],
      ['counted', 'half_open', true],
    ])
    const slow = await open({ slowCallDuration: 50, slowCallRate: 0.5, windowType: 'rate', failureRate: 0.5 })
    slow.link.take()
    const test = admitted(slow.breaker)
    await slow.clock.advance(50)
    test.success()
    expect(slow.link.take().slice(-2)).toEqual([
      ['ended', 'success'],
      ['counted', 'half_open', true],
    ])
    const late = await open({ probeLease: 100 })
    const lateTest = admitted(late.breaker)
    await late.clock.advance(101)
    lateTest.success()
    expect(late.link.take().at(-1)).toEqual(['ended', undefined])
    expect(late.breaker.state).toBe('half_open')
  })

  it('does not report a slow success as a failure while it is closed', async () => {
    const { breaker, link, clock } = linked(
      made({ windowType: 'rate', failureRate: 0.9, slowCallRate: 0.9, slowCallDuration: 10 }),
    )
    const call = admitted(breaker)
    await clock.advance(10)
    call.success()
    expect(link.take()).toEqual([['counted', 'closed', false]])
  })

  it('stays open where a probe is not allowed, and does not request another before that time', async () => {
    const { breaker, link, clock } = await open()
    link.until = clock.now() + 70
    expect(breaker.admit()).toBeUndefined()
    expect(breaker.state).toBe('open')
    expect(link.take()).toHaveLength(1)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(69)
    expect(breaker.admit()).toBeUndefined()
    expect(link.take()).toEqual([])
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
  })

  it('starts a probe where it is allowed now', async () => {
    const { breaker, link, clock } = await open()
    link.until = clock.now()
    expect(breaker.admit()).toBeDefined()
  })

  it('leaves the other probe permits to other nodes while they hold them', async () => {
    const { breaker, link, clock } = await open({ halfOpenMax: 3, successThreshold: 3, probeLease: 1000 })
    const test = admitted(breaker)
    link.until = clock.now() + 70
    expect(breaker.admit()).toBeUndefined()
    link.take()
    await clock.advance(69)
    expect(breaker.admit()).toBeUndefined()
    expect(link.take()).toEqual([])
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
    test.success()
    expect(link.take().at(-1)).toEqual(['counted', 'half_open', false])
  })

  it('releases those permits when a probe is scheduled', async () => {
    const { breaker, link, clock } = await open({ halfOpenMax: 3, successThreshold: 3, probeLease: 1000 })
    const test = admitted(breaker)
    link.until = clock.now() + 70
    expect(breaker.admit()).toBeUndefined()
    link.until = Number.NEGATIVE_INFINITY
    breaker.scheduleProbe(clock.now())
    expect([breaker.admit(), breaker.admit(), breaker.admit()].map((pass) => pass !== undefined)).toEqual([
      true,
      true,
      false, // the first test still has its place
    ])
    test.success()
  })
})

describe('the state of other nodes', () => {
  const news = (more: Partial<RemoteBreakerState>): RemoteBreakerState => ({
    state: 'open',
    left: 400,
    openFor: 800,
    openings: 2,
    failures: 7,
    off: false,
    ...more,
  })

  it('opens the breaker for the rest of the open time', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000 })
    breaker.applyRemoteState(news({}))
    expect(breaker).toMatchObject({ state: 'open', failureCount: 7, disabled: false })
    expect(breaker.nextTestTime).toBe(clock.wall() + 400)
    expect(breaker.snapshot()).toMatchObject({ openedInARow: 2 })
    await clock.advance(400)
    expect(breaker.admit()).toBeDefined()
  })

  it('opens the breaker no longer than its settings allow', () => {
    const { breaker, clock } = made({ timeoutDuration: 100, maxTimeoutDuration: 300 })
    breaker.applyRemoteState(news({ left: 9000, openFor: 9000 }))
    expect(breaker.nextTestTime).toBe(clock.wall() + 300)
  })

  it('closes, disables or enables the breaker', () => {
    const { breaker } = opened()
    breaker.applyRemoteState(news({ state: 'closed' }))
    expect(breaker).toMatchObject({ state: 'closed', disabled: false, failureCount: 0 })
    breaker.applyRemoteState(news({ off: true }))
    expect(breaker).toMatchObject({ state: 'closed', disabled: true })
    expect(breaker.admit()).toBeDefined()
    breaker.applyRemoteState(news({}))
    expect(breaker).toMatchObject({ state: 'open', disabled: false })
  })

  it('is not reported back to the coordinator', () => {
    const { breaker, link } = linked(made())
    breaker.applyRemoteState(news({}))
    breaker.applyRemoteState(news({ state: 'closed' }))
    expect(link.take()).toEqual([])
  })
})
