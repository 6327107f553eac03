// Compares the public face of every entry with its snapshot in etc/; `--update` writes the snapshots.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { CompilerState, Extractor, ExtractorConfig } from '@microsoft/api-extractor'
import { packages, root } from './packages.mjs'

const update = process.argv.includes('--update')
const folder = join(root, 'etc')
const fresh = join(root, '.cache/api')
mkdirSync(folder, { recursive: true })
mkdirSync(fresh, { recursive: true })
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
        apiReport: { enabled: true, reportFileName, reportFolder: folder, reportTempFolder: fresh },
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
    const { apiReportChanged, errorCount } = Extractor.invoke(config, {
      compilerState,
      localBuild: update,
      printApiReportDiff: !update,
      messageCallback(message) {
        message.handled = true
        const wanted = message.logLevel === 'error' || message.messageId === 'console-api-report-diff'
        if (wanted) console.log(message.text)
      },
    })
    if (errorCount > 0) failed = true
    if (!apiReportChanged) continue
    console.log(`${update ? 'updated' : 'differs'}: ${relative(root, config.reportFilePath)}`)
    if (!update) failed = true
  }
}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.api.md') && !expected.has(name))) {
  console.log(`${update ? 'removed' : 'belongs to no entry'}: etc/${file}`)
  if (update) rmSync(join(folder, file))
  else failed = true
}

if (failed) console.log('The public face has changed. If that is meant: npm run api, and commit etc/.')
process.exitCode = failed ? 1 : 0
