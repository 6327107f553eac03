import { describe, expect, it } from 'vitest'
import { byMemberCodec, seriesCodec, summaryCodec, windowCodec } from '../../../records/src/metrics.js'
import { Metrics } from '../../src/metrics/metrics.js'
import { HOUR, handClock, MINUTE, rowStore } from './setup.js'

const all = { from: new Date(0), to: new Date(Date.UTC(2100, 0)) }

/** A call with attempts of these durations, of which the last succeeded or not. */
function call(
  line: ReturnType<Metrics['recorderFor']>,
  durations: number[],
  success: boolean,
  kind = 'timeout',
) {
  for (const [i, duration] of durations.entries()) {
    const ok = success && i === durations.length - 1
    line.recordAttempt(ok, duration, ok ? undefined : kind)
  }
  line.recordCallEnd({ success, attempts: durations.length, duration: durations.reduce((a, b) => a + b, 0) })
}

describe('the summary of metrics', () => {
  it('has zeros without calls', () => {
    expect(new Metrics(handClock()).summary()).toEqual({
      totalRetries: 0,
      successByAttempt: {},
      circuitBreakerEventsCount: 0,
      retentionHours: 24,
    })
  })

  it('counts retries, successes by attempt and state changes of breakers', () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    const line = metrics.recorderFor('p')
    for (let i = 0; i < 40; i++) line.recordFirstAttemptSuccess(clock.now())
    call(line, [1, 1, 1], true)
    call(line, [1, 1], true)
    call(line, [1, 1, 1, 1], false)
    for (const toState of ['open', 'half_open', 'closed'] as const)
      metrics.recordBreakerChange({ id: 'policy:p', toState })
    expect(metrics.summary()).toEqual({
      totalRetries: 6,
      successByAttempt: { 1: 40, 2: 1, 3: 1 },
      circuitBreakerEventsCount: 3,
      retentionHours: 24,
    })
    expect(summaryCodec.encode(metrics.summary())).toEqual({
      total_retries: 6,
      success_by_attempt: { 1: 40, 2: 1, 3: 1 },
      circuit_breaker_events_count: 3,
      retention_hours: 24,
    })
  })
})

describe('a series of metrics', () => {
  it('has a point per hour with calls, oldest first, with the latency of attempts', () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    const line = metrics.recorderFor('p')
    call(line, [100, 300], true)
    clock.time += 2 * HOUR
    call(line, [200], false)
    clock.time += 10
    line.recordFirstAttemptSuccess(clock.time - 10)
    const series = metrics.timeseries({ hours: 24 })
    expect(series).toEqual({
      dataPoints: [
        {
          timestamp: new Date(Date.UTC(2026, 0, 1, 10)),
          totalRequests: 1,
          totalRetries: 1,
          successRate: 1,
          avgLatency: 200,
        },
        {
          timestamp: new Date(Date.UTC(2026, 0, 1, 12)),
          totalRequests: 2,
          totalRetries: 0,
          successRate: 0.5,
          avgLatency: 105,
        },
      ],
    })
    expect(seriesCodec.encode(series).data_points[0]).toEqual({
      timestamp: '2026-01-01T10:00:00.000Z',
      total_requests: 1,
      total_retries: 1,
      success_rate: 1,
      avg_latency: 0.2,
    })
    expect(metrics.timeseries({ hours: 1 }).dataPoints).toHaveLength(1)
    expect(metrics.timeseries({ hours: 24, step: 'day' }).dataPoints).toEqual([
      expect.objectContaining({
        timestamp: new Date(Date.UTC(2026, 0, 1)),
        totalRequests: 3,
        totalRetries: 1,
      }),
    ])
  })

  it.each([0, -1, 1.5, Number.NaN, '24' as unknown as number])('rejects %s hours', async (hours) => {
    const metrics = new Metrics(handClock())
    const refusal = expect.objectContaining({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('expected a whole number from 1'),
    })
    expect(() => metrics.timeseries({ hours })).toThrow(refusal)
    await expect(metrics.byMember({ hours })).rejects.toEqual(refusal)
  })

  it('returns the retained hours if more are requested', async () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    metrics.recorderFor('p').recordFirstAttemptSuccess(0)
    clock.time += 26 * HOUR
    metrics.recorderFor('p').recordFirstAttemptSuccess(clock.time)
    for (const hours of [168, 1000, 1e9, Number.POSITIVE_INFINITY]) {
      expect(metrics.timeseries({ hours }).dataPoints).toHaveLength(1)
      expect(metrics.timeseries({ hours, step: 'day' }).dataPoints).toHaveLength(1)
      expect(await metrics.byMember({ hours })).toEqual({ proxies: {} })
    }
  })
})

describe('metrics of members', () => {
  it('are counted by member id', async () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    metrics.recordMemberAttempt('proxies', 'p1', true, 100)
    metrics.recordMemberAttempt('proxies', 'p1', false, 300)
    metrics.recordMemberAttempt('proxies', 'p:2/x', false, undefined)
    metrics.recordBreakerChange({ id: 'pool:proxies:p%3A2%2Fx', toState: 'open' })
    metrics.recordBreakerChange({ id: 'pool:proxies:p%3A2%2Fx', toState: 'half_open' })
    const table = await metrics.byMember({ hours: 1 })
    expect(table.proxies).toEqual({
      p1: {
        proxyId: 'p1',
        totalAttempts: 2,
        successCount: 1,
        failureCount: 1,
        avgLatency: 200,
        circuitBreakerOpens: 0,
      },
      'p:2/x': {
        proxyId: 'p:2/x',
        totalAttempts: 1,
        successCount: 0,
        failureCount: 1,
        avgLatency: 0,
        circuitBreakerOpens: 1,
      },
    })
    expect(byMemberCodec.encode(table).proxies.p1).toMatchObject({ proxy_id: 'p1', avg_latency: 0.2 })
  })

  it('are separate for two pools with the same member id', async () => {
    const metrics = new Metrics(handClock())
    metrics.recordMemberAttempt('a', 'm', true, 1)
    metrics.recordMemberAttempt('b', 'm', true, 1)
    metrics.recordMemberAttempt('b', 'n', true, 1)
    expect(Object.keys((await metrics.byMember()).proxies).toSorted()).toEqual(['a:m', 'b:m', 'n'])
  })

  it('expire after the retention', async () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    metrics.recordMemberAttempt('a', 'm', true, 1)
    clock.time += 5 * HOUR
    expect((await metrics.byMember({ hours: 2 })).proxies).toEqual({})
    expect((await metrics.byMember({ hours: 6 })).proxies).toHaveProperty('m')
  })
})

describe('a window of metrics', () => {
  it('has all counters by policy, subsystem and kind', () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    const browser = metrics.recorderFor('fetch', 'browser', 'browser.state')
    const plain = metrics.recorderFor('default')
    clock.time = 50
    for (let i = 0; i < 3; i++) browser.recordFirstAttemptSuccess(0)
    call(browser, [100, 100, 100], false, 'network_error')
    plain.recordAttempt(false, 10, 'timeout')
    plain.recordAttempt(true, 20)
    plain.recordCallEnd({ success: true, attempts: 2, duration: 40, policyIds: ['default', 'aggressive'] })
    const now = new Date(clock.wall())
    const told = metrics.window({ from: new Date(now.getTime() - 1), to: new Date(now.getTime() + 1) })
    expect(told).toEqual({
      timeWindowStart: new Date(now.getTime() - 1),
      timeWindowEnd: new Date(now.getTime() + 1),
      totalSessions: 5,
      successfulSessions: 4,
      failedSessions: 1,
      totalAttempts: 8,
      averageAttemptsPerSession: 1.6,
      maxAttemptsInSession: 3,
      totalDuration: 490,
      averageDurationPerSession: 98,
      byPolicy: {
        fetch: { sessions: 4, successRate: 0.75, averageAttempts: 1.5 },
        aggressive: { sessions: 1, successRate: 1, averageAttempts: 2 },
      },
      bySubsystem: { browser: { sessions: 4, successRate: 0.75, averageAttempts: 1.5 } },
      failureByReason: { network_error: 3, timeout: 1 },
      latency: { p50: expect.closeTo(50, 0), p95: expect.closeTo(100, -0.5), p99: expect.closeTo(100, -0.5) },
    })
    const wire = windowCodec.encode(told)
    expect(windowCodec.schema.safeParse(wire).success).toBe(true)
    expect(wire).toMatchObject({ total_duration: 0.49, by_policy: { fetch: { success_rate: 0.75 } } })
  })

  it('includes the minutes that begin in it', () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    const line = metrics.recorderFor('p')
    line.recordFirstAttemptSuccess(clock.time)
    clock.time += 5 * MINUTE
    line.recordFirstAttemptSuccess(clock.time)
    const at = (minutes: number) => new Date(Date.UTC(2026, 0, 1, 10, minutes))
    expect(metrics.window({ from: at(0), to: at(5) }).totalSessions).toBe(1)
    expect(metrics.window({ from: at(0), to: at(6) }).totalSessions).toBe(2)
    expect(metrics.window({ from: new Date(at(5).getTime() + 20_000), to: at(6) }).totalSessions).toBe(1)
  })

  it.each([
    [undefined, 'from: expected a valid Date, got undefined; to: expected a valid Date, got undefined'],
    [{ from: new Date(Number.NaN), to: new Date(0) }, 'from: expected a valid Date, got an object'],
    [{ from: new Date(1), to: new Date(0) }, 'expected a Date at or after from'],
  ])('rejects the range %o', (range, said) => {
    expect(() => new Metrics(handClock()).window(range as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringContaining(said) }),
    )
  })

  it('returns quantiles within 1 %, from attempts or from hourly sketches', () => {
    for (const maxCurrentAttempts of [10_000, 100, 0]) {
      const clock = handClock()
      const metrics = new Metrics(clock, { maxCurrentAttempts })
      const line = metrics.recorderFor('p')
      for (let i = 1; i <= 1000; i++) line.recordAttempt(true, i)
      const { p50, p95, p99 } = metrics.window(all).latency
      expect(Math.abs(p50 - 500) / 500).toBeLessThan(0.011)
      expect(Math.abs(p95 - 950) / 950).toBeLessThan(0.011)
      expect(Math.abs(p99 - 990) / 990).toBeLessThan(0.011)
    }
  })

  it('of a few minutes has only the latency of those minutes', () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    const line = metrics.recorderFor('p')
    for (let i = 0; i < 100; i++) line.recordAttempt(true, 1000)
    clock.time += 10 * MINUTE
    for (let i = 0; i < 10; i++) line.recordAttempt(true, 10)
    const now = clock.wall()
    expect(metrics.window({ from: new Date(now), to: new Date(now + 1) }).latency.p99).toBeCloseTo(10, 0)
    expect(metrics.window(all).latency.p50).toBeGreaterThan(980)
  })
})

describe('metrics of first-attempt successes', () => {
  it('count all calls, and sample their latency', () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    const line = metrics.recorderFor('p')
    for (let i = 0; i < 1001; i++) {
      clock.time += 2
      line.recordFirstAttemptSuccess(clock.time - 2)
    }
    const told = metrics.window(all)
    expect(told.totalSessions).toBe(1001)
    expect(told.totalDuration).toBeCloseTo(2002, 6)
    expect(told.latency.p50).toBeCloseTo(2, 1)
  })

  it('read the clock once per sixteen calls', () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    let reads = 0
    clock.now = () => {
      reads++
      return clock.time
    }
    const line = metrics.recorderFor('p')
    for (let i = 0; i < 16_000; i++) line.recordFirstAttemptSuccess(0)
    expect(reads).toBeLessThan(1100)
  })
})

describe('a step of the clock', () => {
  it.each([HOUR, -HOUR, 30 * HOUR, -30 * HOUR, 400 * 24 * HOUR])(
    'by %s ms neither loses nor doubles a count',
    async (step) => {
      const clock = handClock()
      const metrics = new Metrics(clock)
      const store = rowStore()
      const line = metrics.recorderFor('p')
      for (let i = 0; i < 5; i++) call(line, [1, 1], true)
      await metrics.save(store, 'n')
      clock.offset += step
      for (let i = 0; i < 5; i++) call(line, [1, 1], true)
      clock.time += 2 * MINUTE
      for (let i = 0; i < 5; i++) call(line, [1, 1], true)
      await metrics.save(store, 'n')
      expect(metrics.summary().totalRetries).toBe(15)
      clock.offset -= step
      clock.time += 2 * MINUTE
      for (let i = 0; i < 5; i++) call(line, [1, 1], true)
      await metrics.save(store, 'n')
      expect(metrics.summary().totalRetries).toBe(20)
      expect(metrics.summary().successByAttempt).toEqual({ 2: 20 })
    },
  )

  it('by an hour forward keeps all counts in the series of a day', () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    metrics.recorderFor('p').recordFirstAttemptSuccess(0)
    clock.offset -= HOUR
    clock.time += MINUTE
    metrics.recorderFor('p').recordFirstAttemptSuccess(clock.time)
    const points = metrics.timeseries({ hours: 24 }).dataPoints
    expect(points.map(({ totalRequests }) => totalRequests)).toEqual([1, 1])
  })
})

describe('the retention of metrics', () => {
  it('deletes hours that are too old', () => {
    const clock = handClock()
    const metrics = new Metrics(clock, { retentionHours: 2 })
    call(metrics.recorderFor('p', 's'), [1, 1], false)
    clock.time += 2 * HOUR - MINUTE
    expect(metrics.summary().totalRetries).toBe(1)
    clock.time += HOUR
    expect(metrics.summary().totalRetries).toBe(0)
    expect(metrics.window(all)).toMatchObject({
      totalSessions: 0,
      byPolicy: {},
      bySubsystem: {},
      failureByReason: {},
    })
  })

  it('changes with the options', () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    const line = metrics.recorderFor('p')
    for (let i = 0; i < 500; i++) line.recordAttempt(true, 5)
    metrics.configure({ retentionHours: 48, maxCurrentAttempts: 10 })
    for (let i = 0; i < 500; i++) line.recordAttempt(true, 5)
    metrics.configure({ retentionHours: 48, maxCurrentAttempts: 1000 })
    for (let i = 0; i < 700; i++) line.recordAttempt(true, 5)
    expect(metrics.window(all).latency.p50).toBeCloseTo(5, 1)
    expect(metrics.summary().retentionHours).toBe(48)
  })

  it('limits the number of names', () => {
    const metrics = new Metrics(handClock())
    for (let i = 0; i < 400; i++) {
      const line = metrics.recorderFor(`policy ${i}`, `subsystem ${i}`, `operation ${i}`)
      line.recordAttempt(false, 1, `kind ${i}`)
      line.recordCallEnd({ success: true, attempts: i + 2, duration: 1 })
    }
    const told = metrics.window(all)
    expect(Object.keys(told.byPolicy)).toHaveLength(251)
    expect(told.byPolicy.other?.sessions).toBe(150)
    expect(Object.keys(told.bySubsystem)).toHaveLength(101)
    expect(Object.keys(told.failureByReason)).toHaveLength(41)
    expect(told.failureByReason.other).toBe(360)
    expect(metrics.summary().successByAttempt.other).toBe(360)
    expect([...metrics.counters().operations]).toHaveLength(201)
  })
})

describe('counters for Prometheus', () => {
  it('only grow, by operation and result', () => {
    const clock = handClock()
    const metrics = new Metrics(clock)
    const line = metrics.recorderFor('p', undefined, 'save')
    for (let i = 0; i < 20; i++) line.recordFirstAttemptSuccess(clock.time)
    call(line, [4, 40], true)
    call(line, [400], false)
    call(line, [400, 400], false)
    metrics.recordBreakerChange({ id: 'service:notion', toState: 'open' })
    clock.time += 30 * HOUR
    metrics.summary()
    const save = metrics.counters().operations.get('save')
    expect(save).toMatchObject({ succeeded: 20, recovered: 1, failed: 1, exhausted: 1, retries: 2 })
    expect(save.attempts.counts[1]).toBe(1)
    expect(save.attempts.counts[7]).toBe(3)
    expect(save.attempts.sum).toBe(1244)
    expect(save.calls.sum).toBe(1244)
    expect(metrics.counters().breakers.get('service:notion')).toEqual({ closed: 0, open: 1, half_open: 0 })
  })
})

describe('a restart of the runtime', () => {
  const fill = (metrics: Metrics) => {
    const line = metrics.recorderFor('p', 's')
    for (let i = 0; i < 30; i++) line.recordFirstAttemptSuccess(0)
    call(line, [10, 20], true)
    metrics.recordMemberAttempt('pool', 'm', true, 5)
    metrics.recordBreakerChange({ id: 'pool:pool:m', toState: 'open' })
  }
  const answers = async (metrics: Metrics) => [
    metrics.summary(),
    metrics.timeseries(),
    await metrics.byMember(),
    { ...metrics.window(all), latency: undefined },
  ]

  it.each(['n1', 'n2'])('as node %s restores all saved metrics', async (node) => {
    const clock = handClock()
    const store = rowStore()
    const first = new Metrics(clock)
    fill(first)
    await first.save(store, 'n1')
    const second = new Metrics(clock)
    await second.load(store, node)
    expect(await answers(second)).toEqual(await answers(first))
    // Of 32 attempts the second longest.
    expect(second.window(all).latency.p99).toBeCloseTo(10, 0)
    fill(first)
    fill(second)
    expect(await answers(second)).toEqual(await answers(first))
    await second.save(store, node)
    const third = new Metrics(clock)
    await third.load(store, 'n3')
    expect(await answers(third)).toEqual(await answers(first))
  })

  it('reads the counts of other nodes again, and its own only once', async () => {
    const clock = handClock()
    const store = rowStore()
    const [one, two] = [new Metrics(clock), new Metrics(clock)]
    fill(one)
    fill(two)
    await one.save(store, 'one')
    await two.save(store, 'two')
    for (let i = 0; i < 3; i++) await one.load(store, 'one')
    // What `one` counted before its first reading is in the store too, under its own name.
    expect(one.window(all).totalSessions).toBe(93)
    fill(two)
    await two.save(store, 'two')
    await one.load(store, 'one')
    expect(one.window(all).totalSessions).toBe(124)
  })

  it('saves only changed rows', async () => {
    const clock = handClock()
    const store = rowStore()
    const metrics = new Metrics(clock)
    const written: number[] = []
    const save = store.save
    store.save = (rows) => {
      written.push(rows.length)
      return save(rows)
    }
    fill(metrics)
    await metrics.save(store, 'n')
    await metrics.save(store, 'n')
    metrics.recorderFor('p').recordFirstAttemptSuccess(0)
    await metrics.save(store, 'n')
    expect(written).toEqual([10, 6])
  })

  it('loses nothing if the store fails for a while', async () => {
    const clock = handClock()
    const store = rowStore()
    const metrics = new Metrics(clock)
    fill(metrics)
    store.broken = true
    await expect(metrics.save(store, 'n')).rejects.toThrow('disk full')
    store.broken = false
    await metrics.save(store, 'n')
    const next = new Metrics(clock)
    await next.load(store, 'm')
    expect(await answers(next)).toEqual(await answers(metrics))
  })

  it('skips damaged rows', async () => {
    const clock = handClock()
    const store = rowStore()
    const hour = Date.UTC(2026, 0, 1, 10)
    const rows: [string, number, unknown][] = [
      ['minute:total', hour, { 5: 'x', 61: [1], y: [1], 3: [2, -1, Number.NaN] }],
      ['minute:total', hour + 1, { 5: [1] }],
      ['minute:policy:p', hour, null],
      ['hour:sketch', hour, { bins: [[1], 'x', [5, -1], [1e9, 1]] }],
      ['hour:sketch', hour, 'x'],
      ['what:is:this', hour, {}],
    ]
    for (const [i, [series, start, data]] of rows.entries())
      store.rows.set(String(i), { series, start, node: 'n', data })
    const metrics = new Metrics(clock)
    await metrics.load(store, 'me')
    expect(metrics.window(all)).toMatchObject({ totalSessions: 2, latency: { p50: 0 } })
  })

  it('deletes rows that are too old to be read', async () => {
    const clock = handClock()
    const store = rowStore()
    const metrics = new Metrics(clock)
    fill(metrics)
    await metrics.save(store, 'n')
    clock.time += 80 * HOUR
    metrics.recorderFor('q').recordFirstAttemptSuccess(clock.time)
    await metrics.save(store, 'n')
    expect([...store.rows.values()].every(({ start }) => start > Date.UTC(2026, 0, 2))).toBe(true)
  })
})
