// Types by `tsc -b`, code by esbuild. Each entry is one file, and the code that the entries of a package share is one more, so
// that a process loads few files. Libraries are built as CommonJS too.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { buildCommonJs, copyTypes } from './cjs.mjs'
import { buildCommands } from './commands.mjs'
import { formatSchema, packages, sourceLoaders } from './packages.mjs'

const all = packages()

/** Sources that `guard` works without. They are files of their own, so that a bundler can leave them out. */
const APART = ['pool/pool.ts']

/** Programs of threads. They lie beside the chunks, because the code that starts them is in one. */
const THREADS = ['sqlite/holdfast-sqlite-thread.ts']

const options = /** @type {const} */ ({
  bundle: true,
  packages: 'external',
  platform: 'neutral',
  format: 'esm',
  target: 'es2022',
  // Beside the files for tools of this repository; not published and not named in the code.
  sourcemap: 'external',
  loader: sourceLoaders,
  logLevel: 'warning',
})

for (const { name, dir, entries, commands, hasCommonJs } of all) {
  const dist = join(dir, 'dist')
  const src = join(dir, 'src')
  // The output of a deleted source must not be published.
  rmSync(join(dist, 'cjs'), { recursive: true, force: true })
  const built = existsSync(dist) ? readdirSync(dist, { recursive: true, encoding: 'utf8' }) : []
  for (const file of built) {
    const source = join(src, file.replace(/\.d\.ts$/, '.ts'))
    const stale = file.endsWith('.d.ts') ? !existsSync(source) : /\.js(\.map)?$/.test(file)
    if (stale) rmSync(join(dist, file))
  }

  // The other packages run on Node.js only, where a few more files cost nothing.
  if (name !== 'holdfast') {
    if (entries.length > 0)
      await build({
        ...options,
        entryPoints: [
          ...entries.map(({ source }) => ({ in: source, out: relative(src, source).replace(/\.ts$/, '') })),
          ...THREADS.map((file) => join(src, file))
            .filter(existsSync)
            .map((file) => ({ in: file, out: `chunks/${basename(file, '.ts')}` })),
        ],
        outdir: dist,
        splitting: true,
        chunkNames: 'chunks/[name]-[hash]',
      })
    await buildCommands({ src, dist, commands, options })
    if (hasCommonJs) await buildCommonJs(dist)
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
    /** The path from the written file to a shared source or another entry of the package. */
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
  await buildCommonJs(dist)
}

// The dashboard, which the server ships.
await import('../packages/dashboard/build.mjs')

// The JSON schema for editors is made from the schema that checks a config file.
const runtime = all.find(({ name }) => name === '@holdfast/runtime')
if (runtime !== undefined) {
  const { jsonSchema } = await import(pathToFileURL(join(runtime.dir, 'dist/index.js')).href)
  writeFileSync(join(runtime.dir, 'dist/schema.json'), formatSchema(jsonSchema()))
}

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
const typed = all.map(({ dir }) => dir).filter((dir) => existsSync(join(dir, 'tsconfig.json')))
const types = spawnSync(process.execPath, [tsc, '-b', ...typed], { stdio: 'inherit' })
if (types.status === 0) for (const { dir, hasCommonJs } of all) if (hasCommonJs) copyTypes(join(dir, 'dist'))
process.exit(types.status ?? 1)
