// Runs the engine's tests against mutants, all in one process. Stryker makes the mutants, keeps them apart and counts; its
// runner for vitest starts a worker and loads every file anew for each of them, which takes hours here.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { pathToFileURL } from 'node:url'
import { declareFactoryPlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { DryRunStatus, TestStatus, toMutantRunResult } from '@stryker-mutator/api/test-runner'
import { build } from 'esbuild'
import { collect, end, run } from './face.mjs'

const HOME = 'packages/core'
const FILES = /^(breaker|classify|guard|pool|regressions|retry)\/.*\.test\.ts$/

/** Machines' timers, files and servers of their own: too slow, or not to be had twice in a process. */
const APART = /useFakeTimers|resetModules|import\.meta|node:http|node:child_process/

/** How long (ms) a test may take beyond a multiple of what it takes without mutants: an await that never ends. */
const PATIENCE = 1000

/** Longer ones (ms, while it is counted who covers what) are left out: each mutant that lives runs through them all. */
const LONG = 250

const stryker = (globalThis.__stryker__ ??= {})

class InProcess {
  tests = []
  usual = new Map()
  copies = 0

  capabilities() {
    return { reloadEnvironment: true }
  }

  async init() {
    process.env.HISTORIES = '100'
    process.env.SEED = '1'
    process.on('unhandledRejection', () => {})
    process.on('uncaughtException', () => {})
    // A mutant that never ends costs the process its life; the next one goes by the same times.
    this.times = path.resolve(HOME, '.mutants-times.json')
    this.usual = new Map(JSON.parse(await readFile(this.times, 'utf8').catch(() => '[]')))
    stryker.counted = this.usual.size > 0
    this.bundle = path.resolve(HOME, `.mutants-${process.pid}.mjs`)
    const home = path.resolve(HOME, 'test')
    const files = []
    for (const file of (await readdir(home, { recursive: true })).filter((name) => FILES.test(name)).sort())
      if (!APART.test(await readFile(path.join(home, file), 'utf8'))) files.push(file)
    const face = new URL('face.mjs', import.meta.url).href
    await build({
      stdin: { contents: files.map((file) => `import './${file}'`).join('\n'), resolveDir: home },
      outfile: this.bundle,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      ignoreAnnotations: true,
      plugins: [
        {
          name: 'mutants',
          setup(bundler) {
            bundler.onResolve({ filter: /^vitest$/ }, () => ({ path: face, external: true }))
            // Who covers what is counted once: it makes loops ten times slower.
            bundler.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path: file }) => ({
              contents: (await readFile(file, 'utf8')).replace(
                /(stryCov_\w+) = cover;/,
                '$1 = stryNS_9fa48().counted ? () => {} : cover;',
              ),
              loader: 'ts',
            }))
          },
        },
      ],
    })
    await this.load()
  }

  /** Loads tests and sources, anew where they were loaded before. */
  async load() {
    await end()
    const tests = collect()
    await import(`${pathToFileURL(this.bundle)}?${this.copies++}`)
    const seen = new Map()
    for (const test of tests) {
      const count = (seen.get(test.name) ?? 0) + 1
      seen.set(test.name, count)
      test.id = count === 1 ? test.name : `${test.name} (${count})`
    }
    // The quick ones first: they kill most.
    const usual = ({ id }) => this.usual.get(id) ?? 0
    this.tests = tests.filter((test) => usual(test) < LONG).sort((a, b) => usual(a) - usual(b))
  }

  async dryRun() {
    stryker.mutantCoverage = undefined
    await this.load()
    const tests = []
    for (const test of this.tests) {
      const result = await this.outcome(test)
      this.usual.set(test.id, result.timeSpentMs)
      tests.push(result)
    }
    stryker.currentTestId = undefined
    stryker.counted = true
    await writeFile(this.times, JSON.stringify([...this.usual]))
    await this.load()
    return { status: DryRunStatus.Complete, tests, mutantCoverage: stryker.mutantCoverage }
  }

  async mutantRun({ activeMutant, testFilter, mutantActivation, hitLimit }) {
    stryker.hitLimit = hitLimit
    const wanted = testFilter === undefined ? undefined : new Set(testFilter)
    const attempt = async () => {
      stryker.hitCount = hitLimit === undefined ? undefined : 0
      stryker.activeMutant = activeMutant.id
      if (mutantActivation === 'static') await this.load()
      const tests = []
      for (const test of this.tests) {
        if (wanted !== undefined && !wanted.has(test.id)) continue
        tests.push(await this.outcome(test))
        if (tests.at(-1).status === TestStatus.Failed) break
      }
      stryker.activeMutant = undefined
      stryker.hitCount = undefined
      return tests
    }
    let tests = await attempt()
    if (mutantActivation === 'static') await this.load()
    else if (tests.at(-1)?.status === TestStatus.Failed) {
      // It counts only where the same test passes without the mutant: an earlier one may have left something broken.
      const test = this.tests.find(({ id }) => id === tests.at(-1).id)
      if ((await this.outcome(test)).status === TestStatus.Failed) {
        await this.load()
        tests = await attempt()
        await this.load()
      }
    }
    return toMutantRunResult({ status: DryRunStatus.Complete, tests })
  }

  async outcome(test) {
    const { id, name } = test
    const began = performance.now()
    const limit = PATIENCE + 20 * (this.usual.get(id) ?? 60_000)
    stryker.currentTestId = id
    let timer
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`took over ${limit} ms`)), limit)
    })
    try {
      await Promise.race([run(test), late])
      return { id, name, status: TestStatus.Success, timeSpentMs: performance.now() - began }
    } catch (error) {
      const failureMessage = String(error?.message ?? error)
      return { id, name, status: TestStatus.Failed, failureMessage, timeSpentMs: performance.now() - began }
    } finally {
      clearTimeout(timer)
    }
  }

  async dispose() {
    await end()
    await rm(this.bundle, { force: true })
  }
}

function create() {
  return new InProcess()
}
create.inject = []

export const strykerPlugins = [declareFactoryPlugin(PluginKind.TestRunner, 'in-process', create)]
