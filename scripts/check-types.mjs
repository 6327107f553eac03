// Checks the published declarations as a user with `skipLibCheck: false` compiles them: no errors, and no import of a package
// that its importer does not declare, because such a package is there only by chance.
// `node scripts/check-types.mjs typescript-5.4` checks with an older compiler that the declarations themselves have no errors;
// those of dependencies may need a newer one.
import { existsSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { packages, root } from './packages.mjs'

/** @type {ts.CompilerOptions} */
const OPTIONS = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
  types: ['node'],
  strict: true,
  skipLibCheck: false,
  noEmit: true,
}

/** @typedef {{ name?: string, dependencies?: object, peerDependencies?: object, optionalDependencies?: object }} Manifest */

/** @type {Map<string, Manifest | undefined>} */
const manifests = new Map()

/**
 * The manifest of the package that a folder belongs to.
 * @param {string} folder
 * @returns {Manifest | undefined}
 */
function manifestOf(folder) {
  if (manifests.has(folder)) return manifests.get(folder)
  const file = join(folder, 'package.json')
  /** @type {Manifest | undefined} */
  const own = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
  const found = own?.name !== undefined || dirname(folder) === folder ? own : manifestOf(dirname(folder))
  manifests.set(folder, found)
  return found
}

/** The package of an import such as `@scope/name/part`. @param {string} specifier */
const packageOf = (specifier) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

/** @param {Manifest | undefined} manifest @param {string} name */
function isDeclared(manifest, name) {
  const types = `@types/${name.replace(/^@/, '').replace('/', '__')}`
  const { dependencies, peerDependencies, optionalDependencies } = manifest ?? {}
  const declared = { ...dependencies, ...peerDependencies, ...optionalDependencies }
  return name === manifest?.name || name in declared || types in declared
}

/** @param {ts.Diagnostic} diagnostic */
function describe({ file, start, messageText }) {
  const place =
    file && `${relative(root, file.fileName)}:${file.getLineAndCharacterOfPosition(start ?? 0).line + 1}`
  return `${place}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
}

/**
 * The errors that another compiler finds in the declarations of some entries, not in those of their dependencies.
 * @param {readonly string[]} entries
 * @param {typeof ts} compiler
 */
export function ownTypeErrors(entries, compiler) {
  const program = compiler.createProgram(entries, OPTIONS)
  const own = program.getSourceFiles().filter(({ fileName }) => !fileName.includes('/node_modules/'))
  return [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...own.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]),
  ].map(describe)
}

/**
 * What is wrong with the declarations of some entries, a sentence each.
 * @param {readonly string[]} entries
 */
export function typeProblems(entries) {
  const program = ts.createProgram(entries, OPTIONS)
  const problems = ts.getPreEmitDiagnostics(program).map(describe)
  for (const file of program.getSourceFiles()) {
    if (program.isSourceFileDefaultLibrary(file)) continue
    const manifest = manifestOf(dirname(file.fileName))
    for (const { fileName: specifier } of ts.preProcessFile(file.text).importedFiles) {
      if (specifier.startsWith('.') || specifier.startsWith('#') || isBuiltin(specifier)) continue
      const name = packageOf(specifier)
      if (!isDeclared(manifest, name))
        problems.push(
          `${relative(root, file.fileName)} imports ${specifier}, which ${manifest?.name} does not declare`,
        )
    }
  }
  return [...new Set(problems)]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const entries = packages()
    .filter((each) => !each.private)
    .flatMap((each) => each.entries.map(({ types }) => types))
  const compiler = process.argv[2]
  const problems =
    compiler === undefined ? typeProblems(entries) : ownTypeErrors(entries, (await import(compiler)).default)
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
}
