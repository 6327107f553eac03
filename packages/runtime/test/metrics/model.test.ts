import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Metrics } from '../../src/metrics/metrics.js'
import { HOUR, handClock, MINUTE, rowStore } from './setup.js'

interface Ended {
  minute: number
  policy: string
  subsystem: string | undefined
  success: boolean
  attempts: number
  duration: number
}

const POLICIES = ['a', 'b', 'c']
const SUBSYSTEMS = [undefined, 'browser', 'telemetry']
const KINDS = ['timeout', 'network_error']

const pick = { policy: fc.constantFrom(...POLICIES), subsystem: fc.constantFrom(...SUBSYSTEMS) }

const action = fc.oneof(
  fc.record({ ...pick, type: fc.constant('successes' as const), count: fc.integer({ min: 1, max: 100 }) }),
  fc.record({
    ...pick,
    type: fc.constant('call' as const),
    success: fc.boolean(),
    kinds: fc.array(fc.constantFrom(...KINDS), { maxLength: 5 }),
    took: fc.integer({ min: 0, max: 5000 }),
  }),
  fc.record({ type: fc.constant('advance' as const), seconds: fc.integer({ min: 1, max: 4000 }) }),
  fc.record({ type: fc.constant('step' as const), seconds: fc.integer({ min: -20_000, max: 20_000 }) }),
  fc.record({ type: fc.constant('read' as const) }),
  fc.record({ type: fc.constant('restart' as const), same: fc.boolean() }),
)

/** How long every first-try success takes, so that samples of them tell the truth. */
const QUICK = 500

/** Minutes end 300 ms after a whole second, and everything happens at whole seconds: no success spans two of them. */
const BEGIN = Date.UTC(2026, 0, 1, 10) - 300

it('metrics agree with a plain list of all attempts in generated histories', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (history) => {
      const clock = handClock(BEGIN)
      clock.time = 1000
      const store = rowStore()
      let node = 'n0'
      let metrics = new Metrics(clock)
      const ended: Ended[] = []
      const failures: { minute: number; kind: string }[] = []
      // The current minute. It is determined again when the last one ends, by a clock that does not step.
      let [minute, minuteEnd] = [0, Number.NEGATIVE_INFINITY]
      const find = () => {
        if (clock.time < minuteEnd) return
        minute = Math.floor(clock.wall() / MINUTE) * MINUTE
        minuteEnd = clock.time + minute + MINUTE - clock.wall()
      }
      find()

      for (const step of history) {
        if (step.type === 'advance') clock.time += step.seconds * 1000
        else if (step.type === 'step') clock.offset += step.seconds * 1000
        else if (step.type === 'read') {
          metrics.summary()
          find()
        } else if (step.type === 'restart') {
          await metrics.save(store, node)
          if (!step.same) node = `${node}+`
          metrics = new Metrics(clock)
          await metrics.load(store, node)
          minuteEnd = Number.NEGATIVE_INFINITY
          find()
        } else {
          const { policy, subsystem } = step
          const line = metrics.recorderFor(policy, subsystem)
          find()
          if (step.type === 'successes')
            for (let i = 0; i < step.count; i++) {
              line.recordFirstAttemptSuccess(clock.time - QUICK)
              ended.push({ minute, policy, subsystem, success: true, attempts: 1, duration: QUICK })
            }
          else {
            for (const kind of step.kinds) {
              line.recordAttempt(false, 10, kind)
              failures.push({ minute, kind })
            }
            const attempts = step.kinds.length + 1
            const facts = { success: step.success, attempts, duration: step.took }
            line.recordCallEnd(facts)
            ended.push({ minute, policy, subsystem, ...facts })
          }
        }
      }

      const retries = ended.reduce((sum, { attempts }) => sum + attempts - 1, 0)
      const byAttempt: Record<string, number> = {}
      for (const { success, attempts } of ended)
        if (success) byAttempt[attempts] = (byAttempt[attempts] ?? 0) + 1
      expect(metrics.summary()).toMatchObject({ totalRetries: retries, successByAttempt: byAttempt })

      for (const hours of [1, 3, 24]) {
        const from = Math.floor((clock.wall() - hours * HOUR) / MINUTE) * MINUTE
        const points = new Map<number, Ended[]>()
        for (const call of ended) {
          if (call.minute < from) continue
          const hour = Math.floor(call.minute / HOUR) * HOUR
          points.set(hour, [...(points.get(hour) ?? []), call])
        }
        expect(metrics.timeseries({ hours }).dataPoints).toEqual(
          [...points]
            .toSorted(([a], [b]) => a - b)
            .map(([hour, calls]) => ({
              timestamp: new Date(hour),
              totalRequests: calls.length,
              totalRetries: calls.reduce((sum, { attempts }) => sum + attempts - 1, 0),
              successRate: calls.filter(({ success }) => success).length / calls.length,
              avgLatency: expect.any(Number),
            })),
        )
        const to = clock.wall() + 1
        const inside = ended.filter((call) => call.minute >= from && call.minute < to)
        const told = metrics.window({ from: new Date(from), to: new Date(to) })
        const part = (calls: Ended[]) => ({
          sessions: calls.length,
          successRate: calls.filter(({ success }) => success).length / calls.length,
          averageAttempts: calls.reduce((sum, { attempts }) => sum + attempts, 0) / calls.length,
        })
        const parts = (names: readonly (string | undefined)[], of: (call: Ended) => string | undefined) =>
          Object.fromEntries(
            names
              .map((name) => [name, inside.filter((call) => of(call) === name)] as const)
              .filter(([name, calls]) => name !== undefined && calls.length > 0)
              .map(([name, calls]) => [name, part(calls)]),
          )
        const reasons: Record<string, number> = {}
        for (const { minute: at, kind } of failures)
          if (at >= from && at < to) reasons[kind] = (reasons[kind] ?? 0) + 1
        expect(told).toMatchObject({
          totalSessions: inside.length,
          successfulSessions: inside.filter(({ success }) => success).length,
          failedSessions: inside.filter(({ success }) => !success).length,
          totalAttempts: inside.reduce((sum, { attempts }) => sum + attempts, 0),
          maxAttemptsInSession: Math.max(0, ...inside.map(({ attempts }) => attempts)),
          totalDuration: expect.closeTo(
            inside.reduce((sum, { duration }) => sum + duration, 0),
            3,
          ),
        })
        expect(told.byPolicy).toEqual(parts(POLICIES, ({ policy }) => policy))
        expect(told.bySubsystem).toEqual(parts(SUBSYSTEMS, ({ subsystem }) => subsystem))
        expect(told.failureByReason).toEqual(reasons)
      }
    }),
    { numRuns: 300 },
  )
})
