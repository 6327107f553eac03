// Compares the public API of every entry with its snapshot in etc/; `--update` writes the snapshots.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { CompilerState, Extractor, ExtractorConfig } from '@microsoft/api-extractor'
import { packages, root } from './packages.mjs'
import { sortTypeMembers } from './stable-types.mjs'

const update = process.argv.includes('--update')
const folder = join(root, 'etc')
const fresh = join(root, '.cache/api')
const written = join(root, '.cache/api-written')
for (const dir of [folder, fresh, written]) mkdirSync(dir, { recursive: true })

let failed = false
/** @type {Set<string>} */
const expected = new Set()

for (const { dir, entries } of packages()) {
  const configs = entries.map(({ id, types }) => {
    const reportFileName = `${id.replace('@', '').replaceAll('/', '-')}.api.md`
    expected.add(reportFileName)
    return ExtractorConfig.prepare({
      configObjectFullPath: join(dir, 'api-extractor.json'),
      packageJsonFullPath: join(dir, 'package.json'),
      configObject: {
        projectFolder: dir,
        mainEntryPointFilePath: types,
        newlineKind: 'lf',
        compiler: { tsconfigFilePath: join(dir, 'tsconfig.json') },
        apiReport: { enabled: true, reportFileName, reportFolder: written, reportTempFolder: fresh },
        messages: {
          // What is exported is public; the rest is internal. No further tags.
          extractorMessageReporting: { 'ae-missing-release-tag': { logLevel: /** @type {any} */ ('none') } },
        },
      },
    })
  })
  const [first] = configs
  if (first === undefined) continue
  const compilerState = CompilerState.create(first, {
    additionalEntryPoints: entries.map(({ types }) => types),
  })
  for (const config of configs) {
    const { errorCount } = Extractor.invoke(config, {
      compilerState,
      localBuild: true,
      messageCallback(message) {
        message.handled = true
        if (message.logLevel === 'error') console.log(message.text)
      },
    })
    if (errorCount > 0) failed = true
    const name = config.reportFilePath.split(/[/\\]/).at(-1) ?? ''
    const snapshot = join(folder, name)
    const now = sortTypeMembers(readFileSync(config.reportFilePath, 'utf8'))
    const before = existsSync(snapshot) ? readFileSync(snapshot, 'utf8') : ''
    if (now === before) continue
    console.log(`${update ? 'updated' : 'differs'}: ${relative(root, snapshot)}`)
    if (update) writeFileSync(snapshot, now)
    else {
      failed = true
      console.log(firstDifference(before, now))
    }
  }
}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.api.md') && !expected.has(name))) {
  console.log(`${update ? 'removed' : 'belongs to no entry'}: etc/${file}`)
  if (update) rmSync(join(folder, file))
  else failed = true
}

if (failed) console.log('The public API has changed. If this is intended: npm run api, and commit etc/.')
process.exitCode = failed ? 1 : 0

/** @param {string} before @param {string} now @returns {string} the lines around where they part */
function firstDifference(before, now) {
  const [old, fresh] = [before.split('\n'), now.split('\n')]
  const at = fresh.findIndex((line, i) => line !== old[i])
  const part = (/** @type {string[]} */ lines, /** @type {string} */ mark) =>
    lines.slice(at, at + 8).map((line) => `${mark} ${line}`)
  return [`from line ${at + 1} on:`, ...part(old, '-'), ...part(fresh, '+')].join('\n')
}
