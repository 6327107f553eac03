// Bundles the simulation with the sources of all packages of a repository, so that it needs no build and a changed copy of the
// sources can be simulated.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/**
 * @param {string} root the folder of the repository, or of a copy of it
 * @param {string} outfile
 */
export async function bundleSimulation(root, outfile) {
  const { sourceAliases, sourceLoaders } = await import(
    pathToFileURL(join(root, 'scripts/packages.mjs')).href
  )
  await build({
    entryPoints: [join(root, 'packages/simulation/src/main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    alias: sourceAliases,
    loader: sourceLoaders,
    sourcemap: 'inline',
    logLevel: 'warning',
  })
}
