// The same suite, compiled by other compilers and as experimental decorators.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import ts from 'typescript'
import { afterAll } from 'vitest'

const here = fileURLToPath(new URL('.', import.meta.url))
const cache = join(here, '../../../../.cache')
mkdirSync(cache, { recursive: true })
const folder = mkdtempSync(join(cache, 'decorators-'))
afterAll(() => rmSync(folder, { recursive: true }))

const source = readFileSync(join(here, 'suite.ts'), 'utf8').replaceAll(
  "from '../../src/",
  `from '${join(here, '../../src')}/`,
)

const compilers = {
  'by esbuild, experimentalDecorators': () =>
    transformSync(source, {
      loader: 'ts',
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    }).code,
  'by TypeScript, standard': () => typescript({}),
  'by TypeScript, experimentalDecorators': () => typescript({ experimentalDecorators: true }),
}

const typescript = (compilerOptions: ts.CompilerOptions): string =>
  ts.transpileModule(source, {
    compilerOptions: { ...compilerOptions, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  }).outputText

for (const [how, compile] of Object.entries(compilers)) {
  const file = join(folder, `${how.replaceAll(/\W+/g, '-')}.mjs`)
  writeFileSync(file, compile())
  const { suite } = (await import(file)) as typeof import('./suite.js')
  suite(how)
}
