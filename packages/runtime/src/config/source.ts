import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { messageOf } from '../records/summary.js'
import { type Checked, checkObject } from './check.js'
import { checkText } from './file/check-text.js'
import { configInvalid } from './problem.js'
import type { Config } from './schema/schema.js'
import type { Environment } from './text/interpolate.js'
import { CURRENT_VERSION } from './version.js'

/** A configuration that nothing is wrong with. */
export type SoundConfig = Checked & { readonly config: Config }

/** A configuration that was read, and where it came from. */
export interface Source {
  readonly checked: SoundConfig
  /** The file; absent for an object. */
  readonly file: string | undefined
  /** Where relative paths begin. */
  readonly dir: string
  /** What the file held. */
  readonly text: string | undefined
  /** Why the file was not taken, where the ready policies stand in for it. */
  readonly failed: unknown
}

const EMPTY = { version: CURRENT_VERSION }

/** Reads a configuration for the first time. @throws CONFIG_INVALID unless `fallback` */
export async function readSource(
  given: string | object | undefined,
  env: Environment,
  fallback: boolean,
): Promise<Source> {
  const file = typeof given === 'string' ? resolve(given) : undefined
  const dir = file === undefined ? process.cwd() : dirname(file)
  try {
    if (file === undefined)
      return {
        checked: sound(checkObject(given ?? EMPTY, env), file),
        file,
        dir,
        text: undefined,
        failed: undefined,
      }
    const text = await textOf(file)
    return {
      checked: sound(await checkText(text, { file, env }), file),
      file,
      dir,
      text,
      failed: undefined,
    }
  } catch (failed) {
    if (!fallback) throw failed
    return { checked: sound(checkObject(EMPTY, {}), undefined), file, dir, text: undefined, failed }
  }
}

/** What a file holds. @throws CONFIG_INVALID */
export async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const why = (error as { code?: string }).code === 'ENOENT' ? 'there is no such file' : messageOf(error)
    throw configInvalid(file, [{ path: '', message: `cannot be read: ${why}` }])
  }
}

/** What was checked, if nothing is wrong with it. */
export function sound(checked: Checked, file: string | undefined): SoundConfig {
  if (checked.config === undefined) throw configInvalid(file ?? 'the config', checked.problems, file)
  return checked as SoundConfig
}
