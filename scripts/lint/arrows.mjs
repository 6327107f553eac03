// core <- records <- store <- config <- fleet <- runtime <- server, core <- proxy <- server, core <- compat, core <- adapters,
// runtime <- nestjs: a package imports only what is to the left of it, by name. Core imports nothing at all, and within it
// nothing imports the testing kit.
import { dirname, join, relative, sep } from 'node:path'

/** Which packages each folder of packages/ may import. A folder that is not listed may not import any of them. */
const allowed = new Map([
  ['core', []],
  ['records', ['holdfast']],
  ['store', ['holdfast', '@holdfast/records']],
  ['config', ['holdfast', '@holdfast/records', '@holdfast/store']],
  ['fleet', ['holdfast', '@holdfast/records', '@holdfast/store', '@holdfast/config']],
  ['runtime', ['holdfast', '@holdfast/records', '@holdfast/store', '@holdfast/config', '@holdfast/fleet']],
  ['proxy', ['holdfast']],
  ['compat', ['holdfast']],
  ['adapters', ['holdfast']],
  ['nestjs', ['holdfast', '@holdfast/runtime']],
  // The page draws delays as the engine computes them, and uses the types of records and responses of the runtime and the server.
  ['dashboard', ['holdfast', '@holdfast/records', '@holdfast/runtime', '@holdfast/server']],
  ['server', ['holdfast', '@holdfast/records', '@holdfast/config', '@holdfast/runtime', '@holdfast/proxy']],
  [
    'simulation',
    [
      'holdfast',
      '@holdfast/records',
      '@holdfast/store',
      '@holdfast/config',
      '@holdfast/fleet',
      '@holdfast/runtime',
    ],
  ],
])

/** @param {string} specifier @returns {string | undefined} the package of ours that is named */
function ours(specifier) {
  return specifier.match(/^(holdfast|@holdfast\/[^/]+)(\/|$)/)?.[1]
}

/**
 * @param {string} file path within the repository
 * @param {string} specifier
 * @returns {string | undefined} what is wrong, if anything is
 */
export function wrongImport(file, specifier) {
  const path = file.split(sep).join('/')
  const [, folder, part] = path.match(/^packages\/([^/]+)\/([^/]+)\//) ?? []

  if (specifier.startsWith('.')) {
    const target = join(dirname(path), specifier).split(sep).join('/')
    const [, other, otherPart] = target.match(/^packages\/([^/]+)\/([^/]+)\//) ?? []
    // Scripts and benchmarks may import the helpers of tests, but not sources, by their path. Tests, and the simulation, which is
    // a test too, may import internals of every package.
    const tool = /^(scripts|bench)\//.test(path) && otherPart !== 'src'
    const isTest = part === 'test' || folder === 'simulation'
    if (other !== undefined && other !== folder && !tool && !isTest)
      return `reach ${other} by its package name, not by its path`
    if (folder !== undefined && part === 'src' && otherPart !== 'src') return 'a source imports sources only'
    const kit = `packages/core/src/testing/`
    if (part === 'src' && target.startsWith(kit) && !path.startsWith(kit)) {
      return 'the engine does not import its testing kit'
    }
    return undefined
  }

  if (folder === undefined || part !== 'src') return undefined
  if (folder === 'core') return 'core imports no package and no built-in module'
  const name = ours(specifier)
  if (name === undefined || allowed.get(folder)?.includes(name)) return undefined
  return `${folder} does not import ${name}: imports follow core <- records <- store <- config <- fleet <- runtime <- server, core <- proxy <- server, core <- compat, core <- adapters and runtime <- nestjs`
}

/** @type {Parameters<import('oxlint/plugins-dev').RuleTester['run']>[1]} */
export const arrows = {
  create(context) {
    const file = relative(context.cwd, context.filename)
    /** @param {any} node */
    const check = (node) => {
      if (typeof node.source?.value !== 'string') return
      const message = wrongImport(file, node.source.value)
      if (message !== undefined)
        context.report({ node: node.source, message: `${node.source.value}: ${message}` })
    }
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
    }
  },
}
