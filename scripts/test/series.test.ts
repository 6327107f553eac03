import { execFileSync, fork } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  consecutivePassed,
  failureCounts,
  formatSeries,
  type Result,
  type Run,
  readSeries,
  runSeries,
} from '../stability/series.mjs'

const PASSED: Result = { seconds: 61, passed: 5, failed: 0, skipped: 1, failures: [] }
const FAILED: Result = { seconds: 700, passed: 4, failed: 1, skipped: 1, failures: ['a.test.ts > b'] }

let folder: string
let root: string
let file: string

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()

function commit(text: string) {
  writeFileSync(join(root, 'source.txt'), text)
  git('add', '.')
  git('commit', '--quiet', '--message', text)
  return git('rev-parse', 'HEAD')
}

/** Makes runs with the given results; the next one after them is an error of the test. */
function run(results: Result[], options: Partial<Parameters<typeof runSeries>[0]> = {}) {
  const left = [...results]
  return runSeries({
    root,
    file,
    count: results.length,
    resume: false,
    command: 'npm test',
    busy: 2,
    runOnce: () => {
      const result = left.shift()
      return result === undefined ? Promise.reject(new Error('one run too many')) : Promise.resolve(result)
    },
    ...options,
  })
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-series-'))
  root = join(folder, 'repository')
  file = join(folder, 'results/stability.json')
  execFileSync('git', ['init', '--quiet', root])
  commit('first')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a series', () => {
  test('stores each run with its commit, machine, start, duration and result', async () => {
    await run([PASSED, FAILED])
    const series = readSeries(file)
    expect(series).toMatchObject({ commit: git('rev-parse', 'HEAD'), command: 'npm test', busy: 2 })
    expect(series.runs).toMatchObject([
      { run: 1, ...PASSED },
      { run: 2, ...FAILED },
    ])
    for (const { start, machine } of series.runs) {
      expect(start).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(machine).toContain(`Node.js ${process.version}`)
    }
  })

  test('continues until enough consecutive runs have passed', async () => {
    await run([PASSED, PASSED])
    const { runs } = await run([PASSED], { resume: true, count: 3 })
    expect(runs.map((each) => each.run)).toEqual([1, 2, 3])
    expect(readSeries(file).runs).toEqual(runs)
    expect((await run([], { resume: true, count: 3 })).runs).toHaveLength(3)
  })

  test('counts only the runs after the last failed one', async () => {
    await run([PASSED, FAILED, PASSED])
    const { runs } = await run([PASSED, PASSED], { resume: true, count: 3 })
    expect(consecutivePassed(runs)).toBe(3)
    expect(runs).toHaveLength(5)
  })

  test('does not count a run that is killed in the middle', async () => {
    const program = fileURLToPath(new URL('series-child.mjs', import.meta.url))
    const child = fork(program, [root, file], { execArgv: [] })
    const closed = new Promise((resolve) => child.once('close', resolve))
    await Promise.race([
      new Promise((resolve) => child.once('message', resolve)),
      closed.then(() => Promise.reject(new Error('the child ended too early'))),
    ])
    child.kill('SIGKILL')
    await closed
    expect(readSeries(file).runs).toMatchObject([{ run: 1, ...PASSED }])
    const { runs } = await run([PASSED, PASSED], { resume: true, count: 3 })
    expect(runs.map((each) => each.run)).toEqual([1, 2, 3])
  })

  test('does not count a run whose error is not a result', async () => {
    const broken = () => Promise.reject(new Error('cannot be started'))
    await expect(run([], { count: 1, runOnce: broken })).rejects.toThrow('cannot be started')
    expect(readSeries(file).runs).toEqual([])
  })

  test('starts again without `resume`', async () => {
    await run([FAILED, PASSED])
    await run([PASSED])
    expect(readSeries(file).runs).toMatchObject([{ run: 1, ...PASSED }])
  })
})

describe('a series is not resumed', () => {
  test('at another commit', async () => {
    const first = git('rev-parse', 'HEAD').slice(0, 12)
    await run([PASSED])
    const second = commit('second').slice(0, 12)
    await expect(run([], { resume: true, count: 2 })).rejects.toThrow(
      `The series is for commit ${first}, but the current commit is ${second}. Check out ${first}, or start a new series without --resume.`,
    )
    expect(readSeries(file).runs).toHaveLength(1)
  })

  test('with uncommitted changes, which are listed', async () => {
    await run([PASSED])
    writeFileSync(join(root, 'source.txt'), 'changed')
    writeFileSync(join(root, 'new.txt'), '')
    await expect(run([], { resume: true, count: 2 })).rejects.toThrow(
      /without uncommitted changes\. Commit or stash these, or start a new series without --resume:\n {3}M source\.txt\n {2}\?\? new\.txt$/,
    )
  })

  test('with other tests or another number of busy processes', async () => {
    await run([PASSED])
    await expect(run([], { resume: true, count: 2, command: 'vitest run a' })).rejects.toThrow(
      'The series runs `npm test`, but this is `vitest run a`. Use the same --tests, or start a new series without --resume.',
    )
    await expect(run([], { resume: true, count: 2, busy: 3 })).rejects.toThrow(
      'The series runs beside 2 busy processes, but this is --busy 3. Use --busy 2, or start a new series without --resume.',
    )
  })

  test('if there is none, or its file cannot be read', async () => {
    await expect(run([], { resume: true, count: 1 })).rejects.toThrow(
      `${file} does not exist. Start a series: npm run test:stability`,
    )
    await run([PASSED])
    writeFileSync(file, '{ "version": 1')
    await expect(run([], { resume: true, count: 1 })).rejects.toThrow(
      `${file} is not a file of this version. Start a new series: npm run test:stability`,
    )
  })
})

test('a run during which the repository changes does not count', async () => {
  const change = () => {
    writeFileSync(join(root, 'new.txt'), '')
    return Promise.resolve(PASSED)
  }
  await expect(run([], { count: 1, runOnce: change })).rejects.toThrow(/has changed.*\n {2}\?\? new\.txt$/s)
  expect(readSeries(file).runs).toEqual([])
})

test('a series with uncommitted changes runs, but is not stored', async () => {
  writeFileSync(join(root, 'new.txt'), '')
  const notes: string[] = []
  const { runs } = await run([PASSED, FAILED], { onNote: (text) => notes.push(text) })
  expect(runs).toHaveLength(2)
  expect(notes).toEqual([
    'There are uncommitted changes: the results are not stored, and the series cannot be resumed.',
  ])
  expect(existsSync(file)).toBe(false)
})

test('the table has a line per run, how often each test failed, and the consecutive runs', () => {
  const base = { start: '2026-11-18T20:15:59.000Z', machine: '2 cores' }
  const runs: Run[] = [FAILED, FAILED, PASSED].map((each, i) => ({ run: i + 1, ...base, ...each }))
  const series = { version: 1, commit: '0123456789abcdef', command: 'npm test', busy: 2, runs }
  expect(formatSeries(series, 20).split('\n')).toEqual([
    'run       start (UTC)     duration  result  passed  failed  skipped',
    '  1  2026-11-18 20:15  11 min 40 s  FAILED       4       1        1',
    '  2  2026-11-18 20:15  11 min 40 s  FAILED       4       1        1',
    '  3  2026-11-18 20:15   1 min  1 s      ok       5       0        1',
    '',
    '2 × a.test.ts > b',
    '1 of 20 consecutive runs passed: `npm test` at commit 0123456789ab beside 2 busy processes',
    '2 cores',
  ])
  expect(failureCounts(runs)).toEqual([['a.test.ts > b', 2]])
})
