// Runs the engine's tests against mutants, all in one process. Stryker makes the mutants, keeps them apart and counts; its
// runner for vitest starts a worker and loads every file again for each of them, which takes hours here.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { declareFactoryPlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { DryRunStatus, TestStatus, toMutantRunResult } from '@stryker-mutator/api/test-runner'
import { build } from 'esbuild'
import { collect, end, run } from './vitest-substitute.mjs'

/** @typedef {import('@stryker-mutator/api/test-runner').TestResult} TestResult */
/** @typedef {import('@stryker-mutator/api/test-runner').TestRunner} TestRunner */

const FILES = /^(breaker|classify|guard|pool|regressions|retry)\/.*\.test\.ts$/

/** Tests that use real timers, files or processes are not run: they are too slow, or cannot run twice in one process. */
const APART = /useFakeTimers|resetModules|import\.meta|node:http|node:child_process/

/**
 * Tests that take longer than this (in milliseconds, while coverage is recorded) are not run, because each mutant that survives
 * runs all its tests.
 */
const LONG = 250

/** How long (ms) a test may take, beyond a multiple of what it takes without mutants: an await may never end. */
const LIMIT_MS = 1000

/** What the mutants look at. @type {Record<string, any>} */
const switches = {}
Object.assign(globalThis, { __stryker__: switches })

/** @implements {TestRunner} */
class InProcess {
  // Stryker changes the folder to that of the mutants before it makes a runner.
  home = path.resolve('packages/core')
  bundle = path.join(this.home, `.mutants-${process.pid}.mjs`)
  /** A mutant that never ends costs the process its life; the next one uses the same times. */
  times = path.join(this.home, '.mutants-times.json')
  /** @type {import('./vitest-substitute.mjs').Test[]} */
  tests = []
  /** How long each test takes. @type {Map<string, number>} */
  usual = new Map()
  copies = 0

  capabilities() {
    return { reloadEnvironment: true }
  }

  async init() {
    Object.assign(process.env, { HISTORIES: '100', SEED: '1' })
    for (const event of ['unhandledRejection', 'uncaughtException']) process.on(event, () => {})
    this.usual = new Map(JSON.parse(await readFile(this.times, 'utf8').catch(() => '[]')))
    switches.counted = this.usual.size > 0
    const folder = path.join(this.home, 'test')
    const files = []
    for (const file of (await readdir(folder, { recursive: true })).filter((name) => FILES.test(name)).sort())
      if (!APART.test(await readFile(path.join(folder, file), 'utf8'))) files.push(file)
    await build({
      stdin: { contents: files.map((file) => `import './${file}'`).join('\n'), resolveDir: folder },
      outfile: this.bundle,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      ignoreAnnotations: true,
      plugins: [{ name: 'mutants', setup }],
    })
    await this.load()
  }

  /** Loads tests and sources, again if they were loaded before. */
  async load() {
    await end()
    const tests = collect()
    await import(`${pathToFileURL(this.bundle)}?${this.copies++}`)
    // The quick ones first: they kill most.
    const usual = (/** @type {{ id: string }} */ { id }) => this.usual.get(id) ?? 0
    this.tests = tests.filter((test) => usual(test) < LONG).sort((a, b) => usual(a) - usual(b))
  }

  /** @returns {Promise<import('@stryker-mutator/api/test-runner').DryRunResult>} */
  async dryRun() {
    const tests = []
    for (const test of this.tests) {
      const result = await this.outcome(test)
      this.usual.set(test.id, result.timeSpentMs)
      tests.push(result)
    }
    const { mutantCoverage } = switches
    switches.currentTestId = undefined
    switches.counted = true
    await writeFile(this.times, JSON.stringify([...this.usual]))
    await this.load()
    return { status: DryRunStatus.Complete, tests, mutantCoverage }
  }

  /** @param {import('@stryker-mutator/api/test-runner').MutantRunOptions} options */
  async mutantRun({ activeMutant, testFilter, mutantActivation, hitLimit }) {
    const isStatic = mutantActivation === 'static'
    const wanted = testFilter && new Set(testFilter)
    const attempt = async () => {
      Object.assign(switches, { activeMutant: activeMutant.id, hitLimit, hitCount: hitLimit && 0 })
      if (isStatic) await this.load()
      /** @type {TestResult[]} */
      const results = []
      for (const test of this.tests.filter(({ id }) => wanted === undefined || wanted.has(id))) {
        results.push(await this.outcome(test))
        if (results.at(-1)?.status === TestStatus.Failed) break
      }
      Object.assign(switches, { activeMutant: undefined, hitCount: undefined })
      return results
    }
    let results = await attempt()
    const killer = results.find(({ status }) => status === TestStatus.Failed)
    const test = this.tests.find(({ id }) => id === killer?.id)
    // It counts only where the same test passes without the mutant: an earlier one may have left something broken.
    const broken = !isStatic && test !== undefined && (await this.outcome(test)).status === TestStatus.Failed
    if (isStatic || broken) await this.load()
    if (broken) {
      results = await attempt()
      await this.load()
    }
    return toMutantRunResult({ status: DryRunStatus.Complete, tests: results })
  }

  /** @param {import('./vitest-substitute.mjs').Test} test @returns {Promise<TestResult>} */
  async outcome(test) {
    const { id, name } = test
    const began = performance.now()
    const limit = LIMIT_MS + 20 * (this.usual.get(id) ?? 60_000)
    const told = () => ({ id, name, timeSpentMs: performance.now() - began })
    switches.currentTestId = id
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`it took over ${limit} ms`)), limit)
    })
    try {
      await Promise.race([run(test), late])
      return { ...told(), status: TestStatus.Success }
    } catch (error) {
      return { ...told(), status: TestStatus.Failed, failureMessage: String(error) }
    } finally {
      clearTimeout(timer)
    }
  }

  async dispose() {
    await end()
    await rm(this.bundle, { force: true })
  }
}

/** @param {import('esbuild').PluginBuild} bundler */
function setup(bundler) {
  const substitute = new URL('vitest-substitute.mjs', import.meta.url).href
  bundler.onResolve({ filter: /^vitest$/ }, () => ({ path: substitute, external: true }))
  // Coverage is recorded in the first run only, because recording makes loops ten times slower.
  bundler.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path: file }) => ({
    contents: (await readFile(file, 'utf8')).replace(
      /(stryCov_\w+) = cover;/,
      '$1 = stryNS_9fa48().counted ? () => {} : cover;',
    ),
    loader: 'ts',
  }))
}

const create = Object.assign(() => new InProcess(), { inject: /** @type {[]} */ ([]) })

export const strykerPlugins = [declareFactoryPlugin(PluginKind.TestRunner, 'in-process', create)]
