import { readFile, stat } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { type Checked, type Config, checkConfig, lineOf } from '@holdfast/runtime/config'
import type { Context } from '../context.js'
import { CommandFailure, EXIT } from '../exit.js'

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
export function fileEnv({ io }: Context): Record<string, string | undefined> {
  const { HOLDFAST_URL: _, HOLDFAST_TOKEN: __, ...env } = io.env
  return env
}

/** A path as people in this folder call it. */
export function calledHere({ io }: Context, file: string): string {
  const short = relative(io.cwd, file)
  return short === '' || short.startsWith('..') ? file : short
}

/** What a file holds. */
export async function readHere(context: Context, path: string): Promise<{ file: string; text: string }> {
  const file = resolve(context.io.cwd, path)
  try {
    return { file, text: await readFile(file, 'utf8') }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const name = calledHere(context, file)
    if (code !== 'ENOENT')
      throw new CommandFailure(EXIT.config, `${name} cannot be read (${code})`, { code: 'CONFIG_INVALID' })
    throw new CommandFailure(EXIT.config, `there is no ${name}`, {
      code: 'CONFIG_INVALID',
      hint: 'holdfast init makes a config file; --config FILE names another',
    })
  }
}

/** The config file of a process that goes on reading it. @throws CommandFailure where it can be read only once, as a pipe */
export async function followedFile(context: Context): Promise<string> {
  const path = context.shared.config ?? DEFAULT_FILE
  const file = resolve(context.io.cwd, path)
  const found = await stat(file).catch(() => undefined)
  if (found !== undefined && !found.isFile() && !found.isDirectory())
    throw new CommandFailure(EXIT.config, `${calledHere(context, file)} is no regular file`, {
      code: 'CONFIG_INVALID',
      hint: 'it is read again whenever it changes: write it to a file, and name that with --config',
    })
  // Missing or broken files are told in the words of the command.
  return (await readHere(context, path)).file
}

/** The config file that the command goes by. */
export async function loadFile(context: Context): Promise<LoadedFile> {
  const { file, text } = await readHere(context, context.shared.config ?? DEFAULT_FILE)
  const name = calledHere(context, file)
  const checked = checkConfig(text, { file: name, env: fileEnv(context) })
  if (checked.config === undefined)
    throw new CommandFailure(
      EXIT.config,
      `${name} cannot be used:\n${checked.problems.map((problem) => `  ${lineOf(problem, name)}`).join('\n')}`,
      { code: 'CONFIG_INVALID', details: checked.problems, hint: `holdfast check ${name} checks it again` },
    )
  return { file, dir: dirname(file), text, checked: checked as LoadedFile['checked'] }
}
