import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { endRun, INCOMPLETE_EXIT_CODE } from './summary.mjs'

/** Ends a run of `done` of 100 kills. */
function end(done: number, problems: string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-summary-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const print = vi.spyOn(console, 'error').mockReturnValue()
  onTestFinished(() => print.mockRestore())
  const file = join(folder, 'crash-kills.json')
  const progress = { done, wanted: 100, unit: 'kills' }
  const exitCode = endRun('kills', ['100', '5', '7'], { problems }, progress, file)
  return {
    exitCode,
    saved: existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined,
    printed: print.mock.calls.flat(),
  }
}

describe('a crash run', () => {
  it('that is complete is saved with the command that repeats it', () => {
    expect(end(103)).toMatchObject({
      exitCode: 0,
      saved: { command: 'node packages/runtime/test/crash/kills.mjs 100 5 7', problems: [] },
      printed: [],
    })
  })

  it('that found problems fails and is saved, although they end it', () => {
    expect(end(20, ['lost'])).toMatchObject({ exitCode: 1, saved: { problems: ['lost'] } })
  })

  it.each([0, 99, Number.NaN])(
    'that is not complete after %d of 100 kills fails and is not saved',
    (done) => {
      expect(end(done)).toEqual({
        exitCode: INCOMPLETE_EXIT_CODE,
        saved: undefined,
        printed: [`incomplete: ${done} of 100 kills; the summary was not saved`],
      })
    },
  )
})
