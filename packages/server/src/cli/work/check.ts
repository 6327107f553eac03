import { readFileSync } from 'node:fs'
import { checkConfig, lineOf, type Problem, resolveConfig, undeclaredNotes } from '@holdfast/runtime/config'
import type { Context } from '../context.js'
import { EXIT } from '../exit.js'
import { printJson } from '../output/print.js'
import { paint } from '../output/text.js'
import { calledHere, DEFAULT_FILE, fileEnv, readHere } from '../source/file.js'

const count = (things: object | undefined, one: string, many = `${one}s`): string => {
  const size = Object.keys(things ?? {}).length
  return `${size} ${size === 1 ? one : many}`
}

/** `check [FILE]`: what is wrong with a config file, and where. */
export async function check(context: Context, path: string | undefined): Promise<number> {
  const { io, shared } = context
  const given = path ?? shared.config ?? DEFAULT_FILE
  const { file, text } =
    given === '-' ? { file: 'stdin', text: readFileSync(0, 'utf8') } : await readHere(context, given)
  const name = given === '-' ? file : calledHere(context, file)
  const checked = checkConfig(text, { file: name, env: fileEnv(context) })
  const { config, problems } = checked
  const valid = config !== undefined
  const warnings: Problem[] = [
    ...checked.warnings,
    ...(config === undefined ? [] : undeclaredNotes(resolveConfig({ config }))).map((message) => ({
      path: 'overrides',
      message,
    })),
  ]
  if (shared.json) printJson(context, { valid, errors: problems, warnings })
  else {
    const hue = paint(io.colours)
    for (const problem of problems) io.out(`${hue('red', 'error')}  ${lineOf(problem, name)}\n`)
    for (const warning of warnings) io.out(`${hue('yellow', 'note')}   ${lineOf(warning, name)}\n`)
    if (config !== undefined)
      io.out(
        `${hue('green', 'ok')}     ${name}: ${count(config.policies, 'policy', 'policies')}, ${count(config.circuitBreakers, 'breaker')}, ${count(config.pools, 'pool')}\n`,
      )
    else io.err(`${name} cannot be used: ${problems.length} ${problems.length === 1 ? 'error' : 'errors'}\n`)
  }
  return valid ? EXIT.ok : EXIT.config
}
