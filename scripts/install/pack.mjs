// The tarballs that `npm publish` would upload.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { packages, root } from '../packages.mjs'

/**
 * @typedef {{ name: string, dir: string, tarball: string, hasCommonJs: boolean }} Packed
 *
 * @param {string} folder where the tarballs are written
 * @returns {Packed[]} the public packages
 */
export function packAll(folder) {
  const published = packages().filter((each) => !each.private)
  const workspaces = published.map(({ name }) => `--workspace=${name}`)
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, ...workspaces]
  const output = execFileSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  /** @type {{ name: string, filename: string }[]} */
  const packed = JSON.parse(output)
  return published.map(({ name, dir, hasCommonJs }) => {
    const filename = packed.find((each) => each.name === name)?.filename
    if (filename === undefined) throw new Error(`npm pack wrote no tarball of ${name}`)
    return { name, dir, tarball: join(folder, filename), hasCommonJs }
  })
}
