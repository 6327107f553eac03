// Bundles the command line programs. A command runs often and for a short time, and loading many files takes most of that
// time, so the modules that every start loads become a few minified files with their dependencies. The packages of the runtime
// are not bundled, so that a command and the modules that it loads for its user share one instance of them.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { build } from 'esbuild'
import { root } from './packages.mjs'

/** Third-party packages that are bundled. */
const BUNDLED = ['commander', 'yaml', 'zod']

/** Packages of this repository that are bundled: the source file of each import name. */
const OWN = {
  '@holdfast/runtime/config': 'packages/runtime/src/config/index.ts',
  '@holdfast/config': 'packages/config/src/index.ts',
  '@holdfast/records': 'packages/records/src/index.ts',
  '@holdfast/store': 'packages/store/src/index.ts',
  holdfast: 'packages/core/src/index.ts',
  'holdfast/internal': 'packages/core/src/internal/index.ts',
}

/** @param {string} path */
const slashed = (path) => path.replaceAll(sep, '/')

/** Sources that are part of every start, or of commands that need no runtime. */
const LIGHT =
  /packages\/(core|records|store|config|runtime)\/src\/|packages\/server\/src\/cli\/(context\/io|actions\/disable-zod-jit)\.ts$/
const OTHERS = new RegExp(`/node_modules/(${BUNDLED.join('|')})/`)

/** @type {import('esbuild').Plugin} */
const within = {
  name: 'within',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) => {
      if (kind === 'entry-point' || path.startsWith('node:') || path === 'commander') return undefined
      const from = slashed(importer)
      const own = /** @type {Record<string, string>} */ (OWN)[path]
      if (own !== undefined && (LIGHT.test(from) || path === '@holdfast/runtime/config'))
        return { path: join(root, own) }
      return LIGHT.test(from) || OTHERS.test(from) ? undefined : { path, external: true }
    })
    // The messages of a library in fifty languages, none of which is ever shown.
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, ({ path }) => ({
      contents: "export { default as en } from './en.js'",
      resolveDir: dirname(path),
    }))
  },
}

/** Writes the licences of the bundled third-party packages to a file beside the bundle. @param {string[]} inputs @param {string} file */
function writeNotices(inputs, file) {
  const notices = BUNDLED.flatMap((name) => {
    const input = inputs.map(slashed).find((path) => path.includes(`node_modules/${name}/`))
    if (input === undefined) return []
    const dir = join(root, input.slice(0, input.lastIndexOf(`node_modules/${name}/`)), 'node_modules', name)
    const licence = readdirSync(dir).find((entry) => /^licen[cs]e/i.test(entry))
    if (licence === undefined) throw new Error(`there is no licence in ${dir}`)
    return `${name}\n\n${readFileSync(join(dir, licence), 'utf8').trim()}\n`
  })
  if (notices.length > 0) writeFileSync(file, notices.join('\n----\n\n'))
}

/**
 * Builds what a package installs on the command line.
 *
 * @param {{ src: string, dist: string, commands: string[], options: import('esbuild').BuildOptions }} given
 */
export async function buildCommands({ src, dist, commands, options }) {
  if (commands.length === 0 || !commands.every(existsSync)) return
  const { metafile } = await build({
    ...options,
    packages: 'bundle',
    platform: 'node',
    absWorkingDir: root,
    entryPoints: commands,
    outbase: src,
    outdir: dist,
    splitting: true,
    minify: true,
    metafile: true,
    chunkNames: 'cli/chunks/[name]-[hash]',
    // What was written for `require` finds it.
    banner: {
      js: "import { createRequire as requireFrom$ } from 'node:module';const require=requireFrom$(import.meta.url);",
    },
    plugins: [within],
  })
  writeNotices(Object.keys(metafile.inputs), join(dist, 'cli', 'NOTICES.txt'))
}
