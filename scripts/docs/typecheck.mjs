// Type-checks all examples in one program. Each is a file of its own whose line numbers are those of its document.
import { join } from 'node:path'
import ts from 'typescript'

/** @typedef {import('./extract.mjs').Example} Example */

/** Options of examples with NestJS, whose decorators are experimental. @type {ts.CompilerOptions} */
const NEST_OPTIONS = { experimentalDecorators: true, erasableSyntaxOnly: false }

/** @param {Example} example */
const usesNest = ({ code }) => / from '@nestjs\//.test(code)

/**
 * @param {string} root
 * @param {Example[]} examples
 * @returns {Map<Example, string[]>} those with problems, each told as `file:line: message`
 */
export const typeErrors = (root, examples) =>
  new Map([
    ...programErrors(
      root,
      examples.filter((example) => !usesNest(example)),
      {},
    ),
    ...programErrors(root, examples.filter(usesNest), NEST_OPTIONS),
  ])

/** @param {string} root @param {Example[]} examples @param {ts.CompilerOptions} own @returns {Map<Example, string[]>} */
function programErrors(root, examples, own) {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  Object.assign(
    options,
    { types: ['node'], noEmit: true, moduleDetection: ts.ModuleDetectionKind.Force },
    own,
  )

  const files = new Map(
    examples.map((example) => [join(root, `${example.file}.${example.line}.ts`), example]),
  )
  const host = ts.createCompilerHost(options)
  const { fileExists, getSourceFile } = host
  host.fileExists = (name) => files.has(name) || fileExists(name)
  host.getSourceFile = (name, target, ...rest) => {
    const example = files.get(name)
    if (example === undefined) return getSourceFile(name, target, ...rest)
    return ts.createSourceFile(name, '\n'.repeat(example.line - 1) + example.code, target)
  }

  /** @type {Map<Example, string[]>} */
  const problems = new Map()
  for (const { file, start = 0, messageText } of ts.getPreEmitDiagnostics(
    ts.createProgram([...files.keys()], options, host),
  )) {
    const message = ts.flattenDiagnosticMessageText(messageText, '\n')
    const example = files.get(file?.fileName ?? '')
    if (file === undefined || example === undefined) throw new Error(`Type-checking the examples: ${message}`)
    const line = file.getLineAndCharacterOfPosition(start).line + 1
    problems.set(example, [...(problems.get(example) ?? []), `${example.file}:${line}: ${message}`])
  }
  return problems
}
