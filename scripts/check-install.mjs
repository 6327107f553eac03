// Installs the packed packages into empty projects and follows the getting-started pages there. No network is used: npm
// installs from a registry on this machine.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installEnvironment } from './install/environment.mjs'
import { follow } from './install/follow.mjs'
import { packAll } from './install/pack.mjs'
import { startRegistry } from './install/registry.mjs'
import { root } from './packages.mjs'

/** Ports that the pages use; here they are replaced by free ones. */
const PORTS = ['8000', '8080']

/** @returns {Promise<string>} */
const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
      server.close(() => resolve(String(port)))
    })
  })

const folder = mkdtempSync(join(tmpdir(), 'holdfast-install-'))
const registry = await startRegistry(packAll(folder), join(folder, 'tarballs'))
const env = installEnvironment(folder, registry.url)

/** @param {string} page */
async function followPage(page) {
  let text = readFileSync(join(root, page), 'utf8')
  for (const port of PORTS) text = text.replaceAll(port, await freePort())
  const project = join(folder, page.replaceAll('/', '-').replace(/\.md$/, ''))
  mkdirSync(project)
  const started = performance.now()
  await follow(page, text, { folder: project, env })
  console.log(`${page}: ${((performance.now() - started) / 1000).toFixed(1)} s`)
}

try {
  const selected = process.argv.slice(2)
  const pages = readdirSync(join(root, 'docs/start')).map((name) => `docs/start/${name}`)
  for (const page of selected.length > 0 ? selected : pages) await followPage(page)
} catch (error) {
  console.error(/** @type {Error} */ (error).message)
  process.exitCode = 1
} finally {
  registry.close()
  rmSync(folder, { recursive: true, force: true })
}
