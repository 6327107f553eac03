// Types by `tsc -b`, code by esbuild: each entry is a file, and what a package's entries share is one more, because a
// process that imports one of them loads as few files as can be.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { buildCommands } from './commands.mjs'
import { formatSchema, packages, sourceLoaders } from './packages.mjs'

const all = packages()

/** What `guard` can do without lies in a file of its own, so that a bundler leaves it out. */
const APART = ['pool/pool.ts']

const options = /** @type {const} */ ({
  bundle: true,
  packages: 'external',
  platform: 'neutral',
  format: 'esm',
  target: 'es2022',
  sourcemap: true,
  loader: sourceLoaders,
  logLevel: 'warning',
})

for (const { name, dir, entries, commands } of all) {
  const dist = join(dir, 'dist')
  const src = join(dir, 'src')
  // Deleted sources must not live on in what is published.
  const built = existsSync(dist) ? readdirSync(dist, { recursive: true, encoding: 'utf8' }) : []
  for (const file of built) {
    const source = join(src, file.replace(/\.d\.ts$/, '.ts'))
    const stale = file.endsWith('.d.ts') ? !existsSync(source) : /\.js(\.map)?$/.test(file)
    if (stale) rmSync(join(dist, file))
  }

  // Everything but the engine runs on Node.js alone, where a few more files cost nothing.
  if (name !== 'holdfast') {
    if (entries.length > 0)
      await build({
        ...options,
        entryPoints: entries.map(({ source }) => source),
        outbase: src,
        outdir: dist,
        splitting: true,
        chunkNames: 'chunks/[name]-[hash]',
      })
    await buildCommands({ src, dist, commands, options })
    continue
  }

  const files = [...entries.map(({ source }) => source), ...APART.map((file) => join(src, file))].filter(
    existsSync,
  )
  const own = files.map((file) => (dirname(file) === src ? file : dirname(file) + '/'))
  const isShared = (/** @type {string} */ file) =>
    file.startsWith(src) && !own.some((place) => file.startsWith(place))
  const shared = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map((file) => join(src, file))
    .filter((file) => file.endsWith('.ts') && isShared(file))

  if (shared.length > 0)
    await build({
      ...options,
      stdin: {
        contents: shared.map((file) => `export * from ${JSON.stringify(file)}`).join('\n'),
        resolveDir: src,
      },
      outfile: join(dist, 'core.js'),
    })
  for (const file of files) {
    const outfile = join(dist, relative(src, file)).replace(/\.ts$/, '.js')
    /** Where a shared source, or an entry of the package's own, is found from the file that is written. */
    const from = (/** @type {string} */ path) => {
      const target = isShared(path)
        ? join(dist, 'core.js')
        : join(dist, relative(src, path)).replace(/\.ts$/, '.js')
      const way = relative(dirname(outfile), target)
      return way.startsWith('.') ? way : `./${way}`
    }
    await build({
      ...options,
      entryPoints: [file],
      outfile,
      plugins: [
        {
          name: 'shared',
          setup: ({ onResolve }) =>
            onResolve({ filter: /^\./ }, ({ path, importer, kind }) => {
              const target = resolve(dirname(importer), path).replace(/\.js$/, '.ts')
              const apart = isShared(target) || (files.includes(target) && target !== file)
              return kind === 'import-statement' && apart ? { path: from(target), external: true } : undefined
            }),
        },
      ],
    })
  }
}

// The page that the server ships.
await import('../packages/dashboard/build.mjs')

// What editors check a config file by comes from the schema that checks it.
const runtime = all.find(({ name }) => name === '@holdfast/runtime')
if (runtime !== undefined) {
  const { jsonSchema } = await import(pathToFileURL(join(runtime.dir, 'dist/index.js')).href)
  writeFileSync(join(runtime.dir, 'dist/schema.json'), formatSchema(jsonSchema()))
}

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
const typed = all.map(({ dir }) => dir).filter((dir) => existsSync(join(dir, 'tsconfig.json')))
const types = spawnSync(process.execPath, [tsc, '-b', ...typed], { stdio: 'inherit' })
process.exit(types.status ?? 1)
