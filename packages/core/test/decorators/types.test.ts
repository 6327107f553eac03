import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const { config } = ts.readConfigFile(file('../../../../tsconfig.base.json'), ts.sys.readFile)

describe('the types of decorators', () => {
  it('are the same for experimentalDecorators and standard decorators', () => {
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, file('.'))
    const program = ts.createProgram([file('types.test-d.ts')], {
      ...options,
      experimentalDecorators: true,
      noEmit: true,
    })
    const problems = ts.getPreEmitDiagnostics(program, program.getSourceFile(file('types.test-d.ts')))
    const told = problems.map(({ messageText, start = 0, file: source }) => {
      const line = (source?.getLineAndCharacterOfPosition(start).line ?? 0) + 1
      return `${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
    })
    expect(told).toEqual([])
  })
})
