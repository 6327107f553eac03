// Compares the generated reference in docs/reference/ with the code; `--update` writes it.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root } from './packages.mjs'
import { createPages } from './reference/pages.mjs'

const update = process.argv.includes('--update')
const folder = join(root, 'docs/reference')
const { pages, problems } = await createPages()
let isStale = false

for (const [name, text] of pages) {
  const file = join(folder, name)
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (before === text) continue
  isStale = true
  console.log(`${update ? 'updated' : 'differs'}: ${relative(root, file)}`)
  if (update) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  } else {
    const [old, fresh] = [before.split('\n'), text.split('\n')]
    const at = fresh.findIndex((line, index) => line !== old[index])
    console.log(`from line ${at + 1} on:\n- ${old[at] ?? ''}\n+ ${fresh[at] ?? ''}`)
  }
}

const existing = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
for (const name of existing.filter((one) => one.endsWith('.md') && !pages.has(one.replaceAll('\\', '/')))) {
  isStale = true
  console.log(`${update ? 'removed' : 'is not generated any more'}: docs/reference/${name}`)
  if (update) rmSync(join(folder, name))
}

if (problems.length > 0)
  console.log(`These need a sentence in a doc comment or a schema:\n${problems.join('\n')}`)
if (isStale && !update) console.log('The reference is stale: npm run reference, and commit docs/reference/.')
process.exitCode = problems.length > 0 || (isStale && !update) ? 1 : 0
