import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { FuzzFailure, fuzz } from './engine.js'
import type { FuzzTarget } from './target.js'

function tempCorpus(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-corpus-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** A target that fails for cases with a byte, and collects its cases. */
function targetWithout(byte: number | undefined, seen: string[] = []): FuzzTarget {
  return {
    name: 'planted',
    cases: fc.uint8Array({ minLength: 1, maxLength: 30 }),
    dictionary: ['abc'],
    open: async () => ({
      check(bytes) {
        seen.push(bytes.toString('hex'))
        if (byte !== undefined && bytes.includes(byte)) throw new Error('the planted failure')
      },
      close: async () => {},
    }),
  }
}

test('a case that fails is shortened, saved in the corpus and run first from then on', async () => {
  const corpus = tempCorpus()
  const options = { corpus, cases: 5000, seed: 1 }
  await expect(fuzz(targetWithout(7), options)).rejects.toThrow(FuzzFailure)
  const [file = ''] = readdirSync(join(corpus, 'planted'))
  expect(readFileSync(join(corpus, 'planted', file)).toString('hex')).toBe('07')
  const seen: string[] = []
  await expect(fuzz(targetWithout(7, seen), { ...options, cases: 0 })).rejects.toThrow(FuzzFailure)
  expect(seen[0]).toBe('07')
})

test('equal seeds give equal cases, and other seeds others', async () => {
  const run = async (seed: number): Promise<string[]> => {
    const seen: string[] = []
    const report = await fuzz(targetWithout(undefined, seen), { corpus: tempCorpus(), cases: 300, seed })
    expect(report).toEqual({ cases: 300, skipped: undefined })
    return seen
  }
  const first = await run(5)
  expect(await run(5)).toEqual(first)
  expect(await run(6)).not.toEqual(first)
})

test('a target that cannot start is skipped with its reason', async () => {
  const target = { ...targetWithout(0), open: async () => 'not installed' }
  expect(await fuzz(target, { corpus: tempCorpus(), cases: 10, seed: 1 })).toEqual({
    cases: 0,
    skipped: 'not installed',
  })
})

test('cases that are no input of the code do not count', async () => {
  const target: FuzzTarget = {
    ...targetWithout(undefined),
    open: async () => ({
      check: (bytes) => (bytes.length % 2 === 0 ? false : undefined),
      close: async () => {},
    }),
  }
  const seen: string[] = []
  const options = { corpus: tempCorpus(), cases: 300, seed: 5 }
  await fuzz(targetWithout(undefined, seen), options)
  const odd = seen.filter((hex) => (hex.length / 2) % 2 === 1).length
  expect((await fuzz(target, options)).cases).toBe(odd)
})
