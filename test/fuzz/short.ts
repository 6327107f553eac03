import { fileURLToPath } from 'node:url'
import { expect, type TestContext, test } from 'vitest'
import { fuzz } from './engine.js'
import type { FuzzTarget } from './target.js'

const CORPUS = fileURLToPath(new URL('corpus', import.meta.url))

/** The same seed in every run of `npm test`, so that a failure can be repeated. `npm run test:fuzz` chooses others. */
const SEED = 20_260_129

/** Tests a target with its corpus, in which every case that ever failed is kept, and with a few new cases. */
export function testTarget(target: FuzzTarget, cases: number): void {
  test(`${target.name}: the corpus and ${cases} fuzzed cases keep every property`, {
    timeout: 240_000,
  }, async (context: TestContext) => {
    const report = await fuzz(target, { corpus: CORPUS, cases, seed: SEED })
    if (report.skipped !== undefined) context.skip(report.skipped)
    // A few cases are no input of the code.
    expect(report.cases).toBeGreaterThanOrEqual(cases / 2)
  })
}
