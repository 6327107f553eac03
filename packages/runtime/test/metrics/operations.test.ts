import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LatencyLog } from '../../src/metrics/latency-log.js'
import { Metrics } from '../../src/metrics/metrics.js'
import { failing, refused, start } from '../holdfast/setup.js'

const NOON = Date.UTC(2026, 0, 29, 12)
const MINUTE = 60_000
const all = { from: new Date(NOON - 60 * MINUTE), to: new Date(NOON + 600 * MINUTE) }

describe('metrics by operation', () => {
  it('count calls, successes, failures, retries and rejections of each operation', async () => {
    const { hf } = await start({
      policies: { save: { maxAttempts: 3, backoffType: 'immediate' } },
      circuitBreakers: { db: { failureThreshold: 3 } },
    })
    await hf.run('save', async () => 1)
    await failing(hf, 'save', refused)
    await hf.run('load', async () => 1, { service: 'db' })
    await hf.breakers.trip('service:db')
    await failing(hf, 'load', refused, { service: 'db' })
    const { operations, step, total } = await hf.metrics.operations(all)
    expect(total).toMatchObject({ calls: 4, successes: 2, failures: 2, retries: 2, rejections: 1 })
    expect(total.dataPoints).toMatchObject([{ calls: 4 }])
    expect(step).toBe(MINUTE)
    expect(operations).toMatchObject([
      {
        operation: 'load',
        calls: 2,
        successes: 1,
        failures: 1,
        retries: 0,
        rejections: 1,
        breakers: ['service:db'],
      },
      { operation: 'save', calls: 2, successes: 1, failures: 1, retries: 2, rejections: 0, breakers: [] },
    ])
    expect(operations[1]?.dataPoints).toMatchObject([{ timestamp: new Date(NOON), calls: 2, failures: 1 }])
    expect((await hf.metrics.operations({ ...all, operation: 'save' })).operations).toHaveLength(1)
  })

  it('name the pool of an operation in place of the breakers of its members', async () => {
    const { hf } = await start({ pools: { proxies: { members: [{ id: 'p1', url: 'http://127.0.0.1:1' }] } } })
    await hf.run('scrape', async () => 1, { pool: 'proxies' })
    expect((await hf.metrics.operations(all)).operations).toMatchObject([{ breakers: ['pool:proxies'] }])
  })

  it('have one point for each step, and the window limits the minutes', async () => {
    const clock = fakeClock({ wall: NOON })
    const metrics = new Metrics(clock)
    const recorder = metrics.recorderFor('p', undefined, 'save')
    for (let minute = 0; minute < 20; minute++) {
      recorder.recordFirstAttemptSuccess(clock.now())
      await clock.advance(MINUTE)
    }
    const points = async (options: object) => {
      const { operations } = await metrics.operations({ ...all, ...options })
      return operations[0]?.dataPoints.map(({ timestamp, calls }) => [
        (timestamp.getTime() - NOON) / MINUTE,
        calls,
      ])
    }
    expect(await points({})).toHaveLength(20)
    expect(await points({ step: 10 * MINUTE })).toEqual([
      [0, 10],
      [10, 10],
    ])
    expect(await points({ from: new Date(NOON + 5 * MINUTE), to: new Date(NOON + 7 * MINUTE) })).toEqual([
      [5, 1],
      [6, 1],
    ])
  })

  it('have percentiles of the durations of calls, within 5 %', async () => {
    const clock = fakeClock({ wall: NOON })
    const metrics = new Metrics(clock)
    const recorder = metrics.recorderFor('p', undefined, 'save')
    for (let ms = 1; ms <= 1000; ms++) recorder.recordCallEnd({ success: true, attempts: 2, duration: ms })
    recorder.recordCallEnd({
      success: false,
      attempts: 1,
      duration: 0,
      isRejected: true,
      kind: 'circuit_open',
    })
    const { operations } = await metrics.operations(all)
    const { p50, p95, p99 } = operations[0]?.latency ?? { p50: 0, p95: 0, p99: 0 }
    for (const [found, exact] of [
      [p50, 500],
      [p95, 950],
      [p99, 990],
    ] as const)
      expect(Math.abs(found / exact - 1)).toBeLessThan(0.05)
  })

  it('list at most 500 operations and add up all others', async () => {
    const clock = fakeClock({ wall: NOON })
    const metrics = new Metrics(clock)
    for (let i = 0; i < 700; i++)
      metrics.recorderFor('p', undefined, `operation ${i}`).recordFirstAttemptSuccess(clock.now())
    const { operations } = await metrics.operations(all)
    expect(operations).toHaveLength(501)
    expect(operations[0]).toMatchObject({ operation: 'other', calls: 200 })
  })

  it('reject a step that is not a multiple of a minute, and options that do not exist', async () => {
    const metrics = new Metrics(fakeClock({ wall: NOON }))
    await expect(metrics.operations({ ...all, step: 1500 })).rejects.toThrow('step')
    await expect(metrics.operations({ ...all, hours: 1 } as never)).rejects.toThrow('hours')
    await expect(metrics.operations({ from: all.to, to: all.from })).rejects.toThrow('to')
  })

  it.each(['memory:', 'files:', 'sqlite:'])(
    'survive a restart and add up nodes in a store %s',
    async (scheme) => {
      const dir = await mkdtemp(join(tmpdir(), 'holdfast-'))
      onTestFinished(() => rm(dir, { recursive: true, force: true }))
      const { openStore } = await import('@holdfast/store')
      const store = await openStore(scheme === 'memory:' ? 'memory' : `${scheme}${join(dir, 'data')}`)
      onTestFinished(() => store.close())
      const clock = fakeClock({ wall: NOON })
      const first = new Metrics(clock)
      first.recorderFor('p', undefined, 'save', ['service:db']).recordCallEnd({
        success: false,
        attempts: 3,
        duration: 100,
      })
      await first.save(store.metrics, 'a')
      const restarted = new Metrics(clock)
      await restarted.load(store.metrics, 'a')
      expect(await restarted.operations(all)).toEqual(await first.operations(all))
      const other = new Metrics(clock)
      other.recorderFor('p', undefined, 'save').recordCallEnd({ success: true, attempts: 2, duration: 400 })
      await other.load(store.metrics, 'b')
      const [operation] = (await other.operations(all)).operations
      expect(operation).toMatchObject({ calls: 2, failures: 1, retries: 3, breakers: ['service:db'] })
      expect(operation?.latency.p99).toBeGreaterThan(90)
    },
  )
})

describe('a latency log', () => {
  it('keeps one number for each minute and bucket, and continues after the largest weight', () => {
    const log = new LatencyLog({ now: 0 })
    for (let i = 0; i < 10; i++) log.add(NOON, 20, 100_000)
    log.add(NOON + MINUTE, 20, 1)
    let total = 0
    const minutes = new Set<number>()
    log.forEachBucket(NOON, NOON + 2 * MINUTE, (minute, _, weight) => {
      total += weight
      minutes.add(minute)
    })
    expect(total).toBe(1_000_001)
    expect([...minutes]).toEqual([NOON, NOON + MINUTE])
    const [{ data }] = log.takeChanged() as unknown as [{ data: Record<string, number[]> }]
    expect(data['0']?.length).toBe(10)
  })

  it('ignores stored data in another form', () => {
    const log = new LatencyLog({ now: 0 })
    log.mergeStored(NOON, { 0: [3, 2, 'x', 1, 300, 1, 4, -1], 61: [1, 1], 2: 'no' }, 0)
    log.mergeStored(NOON + 1, { 0: [1, 1] }, 0)
    log.mergeStored(NOON, null, 0)
    const found: number[][] = []
    log.forEachBucket(0, Number.POSITIVE_INFINITY, (...entry) => void found.push(entry))
    expect(found).toEqual([[NOON, 3, 2]])
  })
})
