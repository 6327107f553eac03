// Writes the CommonJS form of a built package to `dist/cjs`: every file of `dist`, converted one by one, and a copy of the types.
// Sessions, errors and breakers work across both forms (src/shared-registry.ts of the core).
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { transform } from 'esbuild'

const FOLDER = 'cjs'

/** `import('name')`, as esbuild writes it. `import(expression)` is kept: it loads a file of the user, which may be a module. */
const IMPORT_OF_NAME = /\bimport\(("[^"]+")\)/g

/** The module object that `import()` has for a CommonJS package. */
const IMPORTED_PACKAGE =
  'const __imported = (m) => (m.__esModule ? m : Object.assign({}, m, { default: m }));'

/**
 * The export of a file that has only a default export. `require` returns the value itself, as from the package whose API it is;
 * it also is its own property `default`.
 */
const ONLY_DEFAULT = /^export \{\s*(\w+) as default\s*\}(?: from '([^']+)')?;\s*$/m

/** @param {string} code */
const onlyDefault = (code) =>
  (code.match(/^export\b/gm) ?? []).length === 1 ? ONLY_DEFAULT.exec(code) : null

const FILE_URL = 'const __url = require("node:url").pathToFileURL(__filename).href;'

/** @param {string} code */
async function toCommonJs(code) {
  const [, exported] = onlyDefault(code) ?? []
  const withRequire = code
    .replace(IMPORT_OF_NAME, (_, name) => `Promise.resolve().then(() => __imported(require(${name})))`)
    .replace(exported === undefined ? '' : ONLY_DEFAULT, '')
  const { code: converted } = await transform(withRequire, {
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    define: { 'import.meta.url': '__url' },
  })
  return [
    ...(converted.includes('__imported(') ? [IMPORTED_PACKAGE] : []),
    ...(converted.includes('__url') ? [FILE_URL] : []),
    converted,
    ...(exported === undefined
      ? []
      : [`module.exports = ${exported};\n${exported}.default = ${exported};\n`]),
  ].join('\n')
}

/** Writes the code. @param {string} dist */
export async function buildCommonJs(dist) {
  const target = join(dist, FOLDER)
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  writeFileSync(join(target, 'package.json'), '{ "type": "commonjs" }\n')
  for (const file of filesOf(dist, '.js')) {
    const output = join(target, file)
    mkdirSync(dirname(output), { recursive: true })
    writeFileSync(output, await toCommonJs(readFileSync(join(dist, file), 'utf8')))
  }
}

/** Copies the types. In a folder of CommonJS files they describe CommonJS. @param {string} dist */
export function copyTypes(dist) {
  for (const file of filesOf(dist, '.d.ts')) {
    const types = readFileSync(join(dist, file), 'utf8')
    const [, exported, from] = onlyDefault(types) ?? []
    mkdirSync(dirname(join(dist, FOLDER, file)), { recursive: true })
    writeFileSync(
      join(dist, FOLDER, file),
      from === undefined ? types : `import { ${exported} } from '${from}';\nexport = ${exported};\n`,
    )
  }
}

/** @param {string} dist @param {string} ending */
const filesOf = (dist, ending) =>
  readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith(ending) && !file.startsWith(`${FOLDER}/`),
  )
