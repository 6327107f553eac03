// `npm start`: the engine at work, live in a terminal, for about fifteen seconds.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { packages, root } from './packages.mjs'

const stale = packages().some(({ dir, entries }) => {
  const built = entries.map(({ code }) => (existsSync(code) ? statSync(code).mtimeMs : 0))
  const sources = readdirSync(join(dir, 'src'), { recursive: true, encoding: 'utf8' })
  return sources.some((file) => statSync(join(dir, 'src', file)).mtimeMs > Math.min(...built))
})
if (stale) {
  console.log('building first…')
  const { status } = spawnSync(process.execPath, [join(root, 'scripts/build.mjs')], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

// Imported only now that what it shows exists.
await import('./demo/scenes.mjs')
