import { describe, expect, test } from 'vitest'
import { runSteps, type Step } from '../gate/steps.mjs'
import { countTests, failedTests } from '../gate/vitest.mjs'

const node = (code: string) => [process.execPath, '-e', code]
const pass = node('')
const fail = node('console.log("it went wrong"); process.exit(3)')

const run = async (steps: Step[], limit = 20_000) =>
  new Map((await runSteps(steps, { limit })).map((result) => [result.name, result]))

describe('steps', () => {
  test('pass and fail by exit code, and count as one each', async () => {
    const results = await run([
      { name: 'a', command: pass },
      { name: 'b', command: fail },
    ])
    expect(results.get('a')).toMatchObject({ status: 'passed', passed: 1, failed: 0 })
    expect(results.get('b')).toMatchObject({ status: 'failed', passed: 0, failed: 1 })
    expect(results.get('b')?.output).toBe('it went wrong\n\nended with exit code 3')
  })

  test('are skipped when what they need failed, and run after what they only follow', async () => {
    const results = await run([
      { name: 'needs', command: pass, needs: ['build'] },
      { name: 'needs that', command: pass, needs: ['needs'] },
      { name: 'after', command: pass, after: ['build'] },
      { name: 'build', command: fail },
    ])
    expect([...results.keys()]).toEqual(['build', 'needs', 'needs that', 'after'])
    expect(results.get('needs')?.note).toBe('needs build')
    expect(results.get('needs')).toMatchObject({ passed: 0, failed: 0, skipped: 1 })
    expect(results.get('needs that')).toMatchObject({ passed: 0, failed: 0, skipped: 1 })
    expect(results.get('after')).toMatchObject({ passed: 1 })
  })

  test('that are killed, hang or cannot be started have failed', async () => {
    const results = await run([
      { name: 'killed', command: node('process.kill(process.pid, "SIGKILL")') },
      { name: 'absent', command: ['no-such-program'] },
    ])
    const late = await run([{ name: 'hangs', command: node('setInterval(() => {}, 1000)') }], 1_000)
    expect(results.get('killed')?.output).toContain('was ended by SIGKILL')
    expect(late.get('hangs')?.output).toContain('took longer than 1 s')
    expect(results.get('absent')?.output).toContain('could not be started')
    expect([...results.values(), ...late.values()].map(({ failed }) => failed)).toEqual([1, 1, 1])
  })

  test('that wrote no results have failed, whatever their exit code', async () => {
    const count = () => JSON.parse('')
    const results = await run([{ name: 'tests', command: pass, count }])
    expect(results.get('tests')).toMatchObject({ status: 'failed', passed: 0, failed: 1 })
  })

  test('that failed though all they counted passed add a failure', async () => {
    const count = () => ({ passed: 7, failed: 0, skipped: 0 })
    const results = await run([{ name: 'tests', command: fail, count }])
    expect(results.get('tests')).toMatchObject({ status: 'failed', passed: 7, failed: 1 })
  })

  test('that wait for each other are refused', async () => {
    await expect(run([{ name: 'a', command: pass, needs: ['a'] }])).rejects.toThrow('never comes: a')
  })

  test('run two at a time', async () => {
    const started = node(
      'console.log(String(process.hrtime.bigint())); setTimeout(() => console.log(String(process.hrtime.bigint())), 200)',
    )
    const results = await run(['a', 'b', 'c'].map((name) => ({ name, command: started })))
    const [a, b, c] = ['a', 'b', 'c'].map(
      (name) => results.get(name)?.output.trim().split('\n').map(BigInt) ?? [],
    )
    const firstEnd = [a?.[1] ?? 0n, b?.[1] ?? 0n].reduce((x, y) => (x < y ? x : y))
    expect(c?.[0]).toBeGreaterThan(firstEnd)
  })
})

test('tests are counted, and a file that cannot be loaded is a failure', () => {
  const tests = (...statuses: string[]) => statuses.map((status) => ({ status, fullName: status }))
  const counts = countTests({
    testResults: [
      { status: 'passed', assertionResults: tests('passed', 'passed', 'skipped', 'todo') },
      { status: 'failed', assertionResults: tests('passed', 'failed') },
      { status: 'failed', assertionResults: [] },
      { status: 'passed', assertionResults: [{ status: 'passed', fullName: 'README.md:3 (not run)' }] },
    ],
  })
  expect(counts).toEqual({
    passed: 4,
    failed: 2,
    skipped: 2,
    note: '7 tests, 1 doc example(s) only type-checked',
  })
})

test('failed tests are listed with their file, name and error', () => {
  const file = { name: '/project/test/a.test.ts', status: 'failed' }
  const failed = {
    status: 'failed',
    fullName: 'a > b',
    failureMessages: ['AssertionError: 1 is not 2\n    at x'],
  }
  const report = {
    testResults: [
      { ...file, assertionResults: [failed, { status: 'passed', fullName: 'c' }] },
      { ...file, name: '/project/test/b.test.ts', message: 'SyntaxError', assertionResults: [] },
    ],
  }
  expect(failedTests(report, '/project')).toEqual([
    'test/a.test.ts > a > b: AssertionError: 1 is not 2\n    at x',
    'test/b.test.ts: SyntaxError',
  ])
})
