import { readFileSync } from 'node:fs'
import { checkConfig, lineOf, type Problem, resolveConfig, undeclaredNotes } from '@holdfast/runtime/config'
import { configEnv, DEFAULT_FILE, displayPath, readFileHere } from '../backends/file.js'
import type { CommandContext } from '../context/context.js'
import { EXIT_CODES } from '../context/exit.js'
import { printJson } from '../output/print.js'
import { createPainter } from '../output/text.js'

const formatCount = (things: object | undefined, one: string, many = `${one}s`): string => {
  const size = Object.keys(things ?? {}).length
  return `${size} ${size === 1 ? one : many}`
}

/** `check [FILE]`: prints the problems of a config file with their positions. */
export async function checkFile(context: CommandContext, path: string | undefined): Promise<number> {
  const { io, globalOptions } = context
  const input = path ?? globalOptions.config ?? DEFAULT_FILE
  const { file, text } =
    input === '-' ? { file: 'stdin', text: readFileSync(0, 'utf8') } : await readFileHere(context, input)
  const name = input === '-' ? file : displayPath(context, file)
  const checked = checkConfig(text, { file: name, env: configEnv(context) })
  const { config, problems } = checked
  const isValid = config !== undefined
  const warnings: Problem[] = [
    ...checked.warnings,
    ...(config === undefined ? [] : undeclaredNotes(resolveConfig({ config }))).map((message) => ({
      path: 'overrides',
      message,
    })),
  ]
  if (globalOptions.json) printJson(context, { valid: isValid, errors: problems, warnings })
  else {
    const paint = createPainter(io.hasColours)
    for (const problem of problems) io.out(`${paint('red', 'error')}  ${lineOf(problem, name)}\n`)
    for (const warning of warnings) io.out(`${paint('yellow', 'note')}   ${lineOf(warning, name)}\n`)
    if (config !== undefined)
      io.out(
        `${paint('green', 'ok')}     ${name}: ${formatCount(config.policies, 'policy', 'policies')}, ${formatCount(config.circuitBreakers, 'breaker')}, ${formatCount(config.pools, 'pool')}\n`,
      )
    else io.err(`${name} is not valid: ${problems.length} ${problems.length === 1 ? 'error' : 'errors'}\n`)
  }
  return isValid ? EXIT_CODES.ok : EXIT_CODES.config
}
