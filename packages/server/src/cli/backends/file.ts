import { readFile, stat } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { type Checked, type Config, checkConfig, lineOf } from '@holdfast/runtime/config'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'

/** What is read where `--config` says nothing. */
export const DEFAULT_FILE = 'holdfast.yaml'

/** A config file that can be used. */
export interface LoadedFile {
  readonly file: string
  /** Where its relative paths begin. */
  readonly dir: string
  readonly text: string
  readonly checked: Checked & { readonly config: Config }
}

/** The environment as config files read it: what belongs to the command is none of theirs. */
export function configEnv({ io }: CommandContext): Record<string, string | undefined> {
  const { HOLDFAST_URL: _, HOLDFAST_TOKEN: __, ...env } = io.env
  return env
}

/** A path as people in this folder call it. */
export function displayPath({ io }: CommandContext, file: string): string {
  const short = relative(io.cwd, file)
  return short === '' || short.startsWith('..') ? file : short
}

/** What a file holds. */
export async function readFileHere(
  context: CommandContext,
  path: string,
): Promise<{ file: string; text: string }> {
  const file = resolve(context.io.cwd, path)
  try {
    return { file, text: await readFile(file, 'utf8') }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const name = displayPath(context, file)
    if (code !== 'ENOENT')
      throw new CommandFailure(EXIT_CODES.config, `${name} cannot be read (${code})`, {
        code: 'CONFIG_INVALID',
      })
    throw new CommandFailure(EXIT_CODES.config, `there is no ${name}`, {
      code: 'CONFIG_INVALID',
      hint: 'holdfast init makes a config file; --config FILE names another',
    })
  }
}

/** The config file of a process that goes on reading it. @throws CommandFailure where it can be read only once, as a pipe */
export async function watchedFile(context: CommandContext): Promise<string> {
  const path = context.globalOptions.config ?? DEFAULT_FILE
  const file = resolve(context.io.cwd, path)
  const found = await stat(file).catch(() => undefined)
  if (found !== undefined && !found.isFile() && !found.isDirectory())
    throw new CommandFailure(EXIT_CODES.config, `${displayPath(context, file)} is no regular file`, {
      code: 'CONFIG_INVALID',
      hint: 'it is read again whenever it changes: write it to a file, and name that with --config',
    })
  // Missing or broken files are told in the words of the command.
  return (await readFileHere(context, path)).file
}

/** The config file that the command goes by. */
export async function loadFile(context: CommandContext): Promise<LoadedFile> {
  const { file, text } = await readFileHere(context, context.globalOptions.config ?? DEFAULT_FILE)
  const name = displayPath(context, file)
  const checked = checkConfig(text, { file: name, env: configEnv(context) })
  if (checked.config === undefined)
    throw new CommandFailure(
      EXIT_CODES.config,
      `${name} cannot be used:\n${checked.problems.map((problem) => `  ${lineOf(problem, name)}`).join('\n')}`,
      { code: 'CONFIG_INVALID', details: checked.problems, hint: `holdfast check ${name} checks it again` },
    )
  return { file, dir: dirname(file), text, checked: checked as LoadedFile['checked'] }
}
