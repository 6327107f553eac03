import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { seeded } from '../../packages/runtime/test/crash/random.mjs'
import { drawCurves, sparkline, table } from '../soak/chart.mjs'
import { FailingService } from '../soak/failures.mjs'
import { prepareFolder } from '../soak/folder.mjs'
import { checkCounters, checkDeadLetters } from '../soak/ledger.mjs'
import { ProblemCounter } from '../soak/problems.mjs'
import { curvesOf, parseSamples } from '../soak/samples.mjs'
import { GROWTH_LIMITS, judge, slopeOf } from '../soak/verdict.mjs'

type Curve = (minute: number) => number

/** Points of an hour, one for each minute. */
const points = (curve: Curve) => Array.from({ length: 61 }, (_, minute) => ({ minute, value: curve(minute) }))

/** The problems of one process with one curve, beside a reference process. */
const problemsOf = (measure: string, curve: Curve, reference: Curve = () => 5) =>
  judge(
    { server: { [measure]: points(curve) }, reference: { delayP99: points(reference) } },
    { processes: ['server'], reference: 'reference', warmUpMinutes: 10 },
  ).problems

describe('the verdict of the soak test', () => {
  it('accepts noise around a constant', () => {
    const random = seeded(1)
    expect(problemsOf('heap', () => 40e6 + random() * 10e6)).toEqual([])
    expect(problemsOf('rss', () => 150e6 + random() * 60e6)).toEqual([])
    expect(problemsOf('descriptors', () => 60 + Math.floor(random() * 40))).toEqual([])
  })

  it('accepts growth in the warm-up', () => {
    expect(problemsOf('heap', (minute) => 30e6 + Math.min(minute, 10) * 5e6)).toEqual([])
  })

  it('accepts single outliers, also at the end', () => {
    expect(problemsOf('heap', (minute) => (minute > 55 ? 200e6 : 40e6))).toEqual([])
  })

  it('rejects a leak that is smaller than the noise', () => {
    const random = seeded(2)
    const [problem] = problemsOf('heap', (minute) => 40e6 + random() * 6e6 + minute * 150_000)
    expect(problem).toMatch(/^server: heap grew by \d\.\d MB, limit 4\.0 MB$/)
  })

  it('rejects a leak that grows in steps', () => {
    expect(problemsOf('rss', (minute) => 150e6 + Math.floor(minute / 15) * 20e6)).toHaveLength(1)
  })

  it('rejects descriptors that are not closed', () => {
    expect(problemsOf('descriptors', (minute) => 60 + Math.floor(minute / 4))).toEqual([
      'server: descriptors grew by 13, limit 8',
    ])
  })

  it('rejects a curve just above its limit and accepts one just below', () => {
    const growing = (growth: number) => (minute: number) => 50e6 + (growth * minute) / 50
    expect(problemsOf('heap', growing(GROWTH_LIMITS.heap * 1.01))).toHaveLength(1)
    expect(problemsOf('heap', growing(GROWTH_LIMITS.heap * 0.99))).toEqual([])
  })

  it('rejects an event loop that becomes slower', () => {
    expect(problemsOf('delayP99', (minute) => 5 + minute)).toHaveLength(1)
    expect(problemsOf('delayP99', () => 20)).toEqual([])
  })

  it('accepts a slower event loop if the reference process became slower as much', () => {
    const slower: Curve = (minute) => (minute < 35 ? 10 : 40)
    expect(problemsOf('delayP99', slower)).toHaveLength(1)
    expect(problemsOf('delayP99', slower, slower)).toEqual([])
  })

  it('accepts a slower event loop if the process waited longer for a processor', () => {
    const slower: Curve = (minute) => (minute < 35 ? 10 : 40)
    const waits = (curve: Curve) =>
      judge(
        {
          server: { delayP99: points(slower), wait: points(curve) },
          reference: { delayP99: points(() => 5) },
        },
        { processes: ['server'], reference: 'reference', warmUpMinutes: 10 },
      ).problems
    expect(waits((minute) => (minute < 35 ? 0.1 : 0.4))).toEqual([])
    expect(waits(() => 0.4)).toHaveLength(1)
  })

  describe('in minutes in which other programs have the processors', () => {
    const judgeWith = (curve: Curve, wait: Curve) =>
      judge(
        { server: { heap: points(curve), wait: points(wait) } },
        { processes: ['server'], reference: 'reference', warmUpMinutes: 10 },
      )
    const starvedAtEnd: Curve = (minute) => (minute >= 38 ? 0.9 : 0.2)

    it('ignores calls that accumulate', () => {
      const accumulating: Curve = (minute) => (minute >= 38 ? 40e6 + (minute - 37) * 5e6 : 40e6)
      expect(judgeWith(accumulating, starvedAtEnd)).toMatchObject({
        problems: [],
        starvedMinutes: Array.from({ length: 23 }, (_, i) => 38 + i),
      })
      expect(judgeWith(accumulating, () => 0.2).problems).toHaveLength(1)
    })

    it('still rejects a leak of the other minutes', () => {
      expect(judgeWith((minute) => 40e6 + minute * 200_000, starvedAtEnd).problems).toHaveLength(1)
    })

    it('has no result if more than half of the minutes are starved', () => {
      expect(
        judgeWith(
          () => 40e6,
          (minute) => (minute >= 30 ? 0.9 : 0.2),
        ).problems,
      ).toEqual(['other programs used the machine in 31 of 50 minutes, so the run has no result'])
    })
  })

  it('does not demand a faster event loop if the reference process became faster', () => {
    expect(
      problemsOf(
        'delayP99',
        () => 20,
        (minute) => 30 - minute / 3,
      ),
    ).toEqual([])
  })

  it('rejects a process without samples, and one with too few', () => {
    const options = { processes: ['server', 'proxy'], reference: 'reference', warmUpMinutes: 10 }
    expect(judge({ server: { heap: points(() => 1).slice(0, 14) } }, options).problems).toEqual([
      'server: 4 samples of heap, expected 6 or more',
      'server: no samples',
      'proxy: no samples',
    ])
  })

  it('computes the slope from the median of all pairs', () => {
    expect(slopeOf(points((minute) => 3 * minute + 7))).toBe(3)
    expect(slopeOf(points((minute) => (minute === 30 ? 1e9 : 3 * minute)))).toBe(3)
  })
})

describe('the samples of the soak test', () => {
  it('become curves of a process, without an incomplete last line and samples outside of the run', () => {
    const lines = [
      { name: 'a', at: 500, rss: 1 },
      { name: 'a', at: 61_000, rss: 2, delay: { p50: 1, p99: 2, p999: 3 } },
      { name: 'a', at: 121_000, descriptors: 9, sockets: 4, waitedMs: 100 },
      { name: 'a', at: 181_000, waitedMs: 6100 },
      { name: 'a', at: 999_000, rss: 3 },
    ].map((sample) => JSON.stringify(sample))
    const samples = parseSamples(`${lines.join('\n')}\n{"name":"a","at":1`)
    expect(curvesOf(samples, { startedAt: 1000, endedAt: 200_000 })).toEqual({
      a: {
        rss: [{ minute: 1, value: 2 }],
        delayP50: [{ minute: 1, value: 1 }],
        delayP99: [{ minute: 1, value: 2 }],
        delayP999: [{ minute: 1, value: 3 }],
        descriptors: [{ minute: 2, value: 9 }],
        sockets: [{ minute: 2, value: 4 }],
        wait: [{ minute: 3, value: 0.1 }],
      },
    })
  })
})

describe('the ledger of dead letters', () => {
  const entry = (itemId: string, status = 'completed') => ({ itemId, status })

  it('has no problem if each acknowledged entry was completed and delivered once', () => {
    const lines = ['added a', 'delivered a', 'completed a 1', 'added b', 'completed b 2', 'delivered b', '']
    expect(checkDeadLetters(lines, [entry('b')])).toEqual({ added: 2, completed: 2, problems: [] })
  })

  it('finds an entry that is lost', () => {
    expect(checkDeadLetters(['added a'], []).problems).toEqual(['dead letter a was acknowledged and is lost'])
  })

  it('finds an entry that was completed twice', () => {
    const lines = ['added a', 'delivered a', 'completed a 1', 'completed a 1']
    expect(checkDeadLetters(lines, []).problems).toEqual(['dead letter a was reported as completed 2 times'])
  })

  it('finds a completion without a delivery, and one that the store does not have', () => {
    const { problems } = checkDeadLetters(['added a', 'completed a 1'], [entry('a', 'failed')])
    expect(problems).toEqual([
      'dead letter a was reported as completed and is failed',
      'dead letter a was reported as completed and was not delivered',
      '1 dead letters are failed after the last replay',
    ])
  })
})

describe('the comparison of counters', () => {
  const counted = { succeeded: 8, recovered: 2, failed: 3, exhausted: 1, rejections: { circuit_open: 2 } }
  const check = (seen: { succeeded: number; failed: number; rejected: number }, replays = {}) =>
    checkCounters('node-1', { save: seen }, { save: counted }, replays)

  it('accepts equal counters', () => {
    expect(check({ succeeded: 10, failed: 4, rejected: 2 })).toEqual([])
  })

  it('reports each difference', () => {
    expect(check({ succeeded: 9, failed: 4, rejected: 1 })).toEqual([
      'node-1: save counted 10 successes, expected 9',
      'node-1: save counted 2 failures after an attempt, expected 3',
      'node-1: save counted 2 rejections, expected 1',
    ])
    expect(checkCounters('node-1', { read: { succeeded: 1, failed: 0, rejected: 0 } }, {})).toEqual([
      'node-1: no counters of read',
    ])
  })

  it('adds replays, whose rejections only the runtime knows', () => {
    const replays = { save: { succeeded: 1, failed: 1 } }
    expect(check({ succeeded: 9, failed: 1, rejected: 0 }, replays)).toEqual([])
    expect(check({ succeeded: 9, failed: 4, rejected: 3 }, replays)).toEqual([
      'node-1: save counted 2 rejections, expected 3',
    ])
  })

  it('accepts a replay that succeeded twice, because its first result could not be recorded', () => {
    const replays = { save: { succeeded: 1, failed: 0, handled: 2 } }
    expect(check({ succeeded: 8, failed: 4, rejected: 2 }, replays)).toEqual([])
    expect(check({ succeeded: 9, failed: 4, rejected: 2 }, replays)).toEqual([])
    expect(check({ succeeded: 7, failed: 4, rejected: 2 }, replays)).toEqual([
      'node-1: save counted 10 successes, expected 8',
    ])
  })
})

describe('the problems of the soak test', () => {
  it('are counted by their text, and a limited number of texts is kept', () => {
    const problems = new ProblemCounter()
    for (let n = 0; n < 60; n++) problems.add(`no response ${n}`)
    problems.add('no response 7')
    const list = problems.list()
    expect(list.slice(0, 2)).toEqual(['10 × other errors', '2 × no response 7'])
    expect(list).toHaveLength(51)
  })
})

describe('the failures of the soak test', () => {
  it('are the same for the same seed', () => {
    const outcomes = (seed: number) => {
      const service = new FailingService(seed)
      return Array.from({ length: 2000 }, (_, i) => service.next(i * 100)).join()
    }
    expect(outcomes(7)).toBe(outcomes(7))
    expect(outcomes(7)).not.toBe(outcomes(8))
  })

  it('have phases in which everything fails and phases in which almost nothing does', () => {
    const service = new FailingService(3)
    const failuresPerSecond = Array.from(
      { length: 300 },
      (_, second) =>
        Array.from({ length: 20 }, (_, i) => service.next(second * 1000 + i * 50)).filter(
          (outcome) => outcome !== 'ok',
        ).length,
    )
    expect(failuresPerSecond.filter((count) => count === 20).length).toBeGreaterThan(5)
    expect(failuresPerSecond.filter((count) => count <= 2).length).toBeGreaterThan(150)
  })

  it('end when the service is made healthy', () => {
    const service = new FailingService(3)
    service.isHealthy = true
    expect(
      Array.from({ length: 3000 }, (_, i) => service.next(i * 100)).every((outcome) => outcome === 'ok'),
    ).toBe(true)
  })
})

describe('the charts of the soak test', () => {
  it('draw a curve as blocks from zero', () => {
    expect(sparkline(points((minute) => minute).slice(0, 8), 8)).toBe('▁▂▃▄▅▆▇█')
    expect(sparkline(points(() => 5).slice(0, 4))).toBe('████')
    expect(sparkline([])).toBe('')
  })

  it('align columns', () => {
    expect(
      table([
        ['a', 'bb'],
        ['ccc', 'd'],
      ]),
    ).toBe('a    bb\nccc  d')
  })

  it('draw a picture with a curve for each process and measure', () => {
    const curves = {
      server: { heap: points(() => 1e6), rss: points(() => 2e6) },
      proxy: { heap: points(() => 1) },
    }
    const picture = drawCurves(curves, {
      title: 'a < b',
      processes: ['server', 'proxy'],
      minutes: 60,
      warmUpMinutes: 10,
    })
    expect(picture.match(/<polyline/g)).toHaveLength(3)
    expect(picture).toContain('a &lt; b')
    expect(picture).toContain('max 2.0 MB')
    expect(picture).not.toContain('NaN')
  })
})

describe('the folder of a soak run', () => {
  function temporaryFolder() {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-soak-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    return folder
  }

  it('has no files of an earlier run', () => {
    const folder = join(temporaryFolder(), 'runs', 'soak')
    const samples = prepareFolder(folder)
    writeFileSync(join(folder, 'summary.json'), '{}')
    expect(prepareFolder(folder)).toBe(samples)
    expect(existsSync(samples)).toBe(true)
    expect(existsSync(join(folder, 'summary.json'))).toBe(false)
  })

  it('is rejected if it has other files, which are not deleted', () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'thesis.txt'), '')
    expect(() => prepareFolder(folder)).toThrow('choose an empty folder with --folder')
    expect(existsSync(join(folder, 'thesis.txt'))).toBe(true)
  })
})
