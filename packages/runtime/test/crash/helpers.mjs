import { mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const folder = fileURLToPath(new URL(`../../../../.cache/helpers-${process.pid}`, import.meta.url))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

/** Keeps shared scripts out of the bundle, because they find the root folder from their own location. @type {import('esbuild').Plugin} */
const scriptsStayInPlace = {
  name: 'scripts-stay-in-place',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/scripts\/packages\.mjs$/ }, ({ path, resolveDir }) => ({
      path: pathToFileURL(resolve(resolveDir, path)).href,
      external: true,
    })),
}

/**
 * What the tests of a fleet help themselves with, which is TypeScript.
 *
 * @param {'processes' | 'redis'} name
 * @returns {Promise<any>}
 */
export async function helpers(name) {
  const source = fileURLToPath(new URL(`../../../fleet/test/${name}.ts`, import.meta.url))
  const outfile = join(folder, `${name}.mjs`)
  mkdirSync(folder, { recursive: true })
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    // It finds other files beside itself.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(source).href) },
    plugins: [scriptsStayInPlace],
  })
  return import(pathToFileURL(outfile).href)
}
