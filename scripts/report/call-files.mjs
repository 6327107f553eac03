// `npm run report:files`: which source files one call of `guard.run` executes, by V8's coverage and the source maps of the build.
// The guard is created and warmed up before the coverage starts, so that only the call itself is counted.
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { SourceMap } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from '../packages.mjs'

/** @type {typeof import('../../packages/core/src/index.js')} */
const { guard } = await import(join(root, 'packages/core/dist/index.js'))

/** @typedef {import('node:inspector').Profiler.ScriptCoverage} ScriptCoverage */

/** @param {string} code @param {number} offset @returns {{ line: number, column: number }} */
function positionAt(code, offset) {
  const before = code.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length - 1, column: offset - lineStart }
}

/** @param {ScriptCoverage[]} scripts @returns {string[]} the source files with at least one executed function */
function executedSources(scripts) {
  /** @type {Set<string>} */
  const sources = new Set()
  for (const { url, functions } of scripts) {
    if (!url.startsWith('file:') || !url.includes('/packages/core/dist/')) continue
    const file = fileURLToPath(url)
    const code = readFileSync(file, 'utf8')
    const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')))
    for (const { functionName, ranges } of functions) {
      const [range] = ranges
      // The module's own top level is a function without a name that spans the whole file.
      if (range === undefined || range.count === 0 || (functionName === '' && range.startOffset === 0))
        continue
      const { line, column } = positionAt(code, range.startOffset)
      const entry = map.findEntry(line, column)
      if ('originalSource' in entry && entry.originalSource !== undefined)
        sources.add(relative(join(root, 'packages/core/src'), resolve(dirname(file), entry.originalSource)))
    }
  }
  return [...sources].toSorted((a, b) => a.localeCompare(b))
}

/** @param {() => Promise<unknown>} call @returns {Promise<string[]>} */
async function filesOf(call) {
  await call()
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await call()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  session.disconnect()
  return executedSources(result)
}

/** @param {import('../../packages/core/src/index.js').GuardOptions} options */
function callsOf(options) {
  const api = guard({ ...options, retry: { backoffType: 'immediate' } })
  return {
    success: () => api.run(async () => 'value'),
    'a failed attempt and a retry': () =>
      api.run(async ({ number }) => {
        if (number === 1) throw new Error('unavailable')
        return 'value'
      }),
  }
}

for (const [name, options] of Object.entries({ retry: {}, 'retry and breaker': { breaker: {} } }))
  for (const [outcome, call] of Object.entries(callsOf(options))) {
    const files = await filesOf(call)
    console.log(`guard.run with ${name}, ${outcome}: ${files.length} files`)
    for (const file of files) console.log(`  ${file}`)
  }
