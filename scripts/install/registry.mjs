// An npm registry on this machine, for an installation without a network: it offers the packed packages of this repository and
// every package that is installed in it.
import { execFileSync } from 'node:child_process'
import { cpSync, createReadStream, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { basename, join } from 'node:path'
import { root } from '../packages.mjs'

/** @typedef {{ manifest: { name: string, version: string }, tarball: () => string }} Release */

/**
 * Writes a tarball of an installed package. It is not compressed, which npm accepts and which saves time.
 *
 * @param {string} dir
 * @param {string} folder where it is written
 */
function packInstalled(dir, folder) {
  const tarball = join(folder, 'package.tar')
  if (existsSync(tarball)) return tarball
  mkdirSync(folder, { recursive: true })
  cpSync(dir, join(folder, 'package'), {
    recursive: true,
    filter: (path) => path === dir || basename(path) !== 'node_modules',
  })
  execFileSync('tar', ['-cf', tarball, '-C', folder, 'package'])
  return tarball
}

/** @param {import('./pack.mjs').Packed[]} packed @param {string} folder @returns {Release[]} */
function releases(packed, folder) {
  const read = (/** @type {string} */ dir) => JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
  const own = packed.map(({ dir, tarball }) => ({ manifest: read(dir), tarball: () => tarball }))
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const installed = Object.keys(lock.packages)
    .filter((path) => path.includes('node_modules/') && !lock.packages[path].link)
    .map((path) => join(root, path))
    .filter((dir) => existsSync(join(dir, 'package.json')))
    .map((dir) => {
      const manifest = read(dir)
      const place = join(folder, `${manifest.name.replace('/', '+')}@${manifest.version}`)
      return { manifest, tarball: () => packInstalled(dir, place) }
    })
  return [...own, ...installed]
}

/**
 * @param {import('./pack.mjs').Packed[]} packed
 * @param {string} folder for the tarballs of installed packages
 * @returns {Promise<{ url: string, close: () => void }>}
 */
export async function startRegistry(packed, folder) {
  const offered = releases(packed, folder)
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/').slice(1)
    const [, name = path, version] = path.match(/^(.+)\/-\/(.+)\.tgz$/) ?? []
    const found = offered.filter(
      ({ manifest }) => manifest.name === name && (version === undefined || manifest.version === version),
    )
    const [first] = found
    if (first === undefined) response.writeHead(404).end('{}')
    else if (version !== undefined) createReadStream(first.tarball()).pipe(response)
    else {
      const versions = Object.fromEntries(
        found.map(({ manifest }) => {
          const tarball = `${url}/${name}/-/${manifest.version}.tgz`
          return [manifest.version, { ...manifest, dist: { tarball } }]
        }),
      )
      response.end(JSON.stringify({ name, 'dist-tags': { latest: first.manifest.version }, versions }))
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
  return {
    url,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
