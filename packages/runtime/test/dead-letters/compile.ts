import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildSqliteThread } from '../../../store/test/sqlite-thread-build.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../..')

/**
 * Makes one file of a program and the sources of the packages, which Node runs by itself, and the program of the SQLite thread
 * beside it. Gives where it is.
 */
export async function compile(entry: string, name: string): Promise<string> {
  const outfile = join(root, '.cache', name, 'main.mjs')
  await build({
    entryPoints: [join(root, entry)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
    plugins: [
      {
        name: 'sources',
        setup(bundler) {
          bundler.onResolve({ filter: /^holdfast(\/|$)/ }, ({ path }) => ({
            path: join(root, 'packages/core/src', path.slice('holdfast'.length), 'index.ts'),
          }))
          bundler.onResolve({ filter: /^@holdfast\/runtime$/ }, () => ({
            path: join(root, 'packages/runtime/src/index.ts'),
          }))
        },
      },
    ],
  })
  await buildSqliteThread(dirname(outfile))
  return outfile
}
