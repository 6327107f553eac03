import { readFile, stat } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { type Checked, type Config, checkConfig, lineOf } from '@holdfast/runtime/config'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'

/** The config file where `--config` is not given. */
export const DEFAULT_FILE = 'holdfast.yaml'

/** A valid config file. */
export interface LoadedFile {
  readonly file: string
  /** The folder that relative paths in the file refer to. */
  readonly dir: string
  readonly text: string
  readonly checked: Checked & { readonly config: Config }
}

/** The environment variables for config files, without those of the command itself. */
export function configEnv({ io }: CommandContext): Record<string, string | undefined> {
  const { HOLDFAST_URL: _, HOLDFAST_TOKEN: __, ...env } = io.env
  return env
}

/** A path relative to the current folder, unless the file is outside of it. */
export function displayPath({ io }: CommandContext, file: string): string {
  const short = relative(io.cwd, file)
  return short === '' || short.startsWith('..') ? file : short
}

/** Reads a file. @throws CommandFailure */
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
    throw new CommandFailure(EXIT_CODES.config, `${name} not found`, {
      code: 'CONFIG_INVALID',
      hint: 'holdfast init creates a config file; --config FILE selects another one',
    })
  }
}

/** The config file of a process that watches it. @throws CommandFailure where it can be read only once, such as a pipe */
export async function watchedFile(context: CommandContext): Promise<string> {
  const path = context.globalOptions.config ?? DEFAULT_FILE
  const file = resolve(context.io.cwd, path)
  const found = await stat(file).catch(() => undefined)
  if (found !== undefined && !found.isFile() && !found.isDirectory())
    throw new CommandFailure(
      EXIT_CODES.config,
      `expected a regular file, got ${displayPath(context, file)}`,
      {
        code: 'CONFIG_INVALID',
        hint: 'the server reads the file again when it changes: write it to a regular file and give that with --config',
      },
    )
  // Reading the file here reports a missing file as a failure of the command.
  return (await readFileHere(context, path)).file
}

/** Reads and checks the config file of a command. @throws CommandFailure that lists every problem */
export async function loadFile(context: CommandContext): Promise<LoadedFile> {
  const { file, text } = await readFileHere(context, context.globalOptions.config ?? DEFAULT_FILE)
  const name = displayPath(context, file)
  const checked = checkConfig(text, { file: name, env: configEnv(context) })
  if (checked.config === undefined)
    throw new CommandFailure(
      EXIT_CODES.config,
      `${name} is not valid:\n${checked.problems.map((problem) => `  ${lineOf(problem, name)}`).join('\n')}`,
      { code: 'CONFIG_INVALID', details: checked.problems, hint: `holdfast check ${name} checks it again` },
    )
  return { file, dir: dirname(file), text, checked: checked as LoadedFile['checked'] }
}
