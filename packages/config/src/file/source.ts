import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { errorMessageOf } from '@holdfast/records'
import { type Checked, checkObject } from '../check/check.js'
import type { Environment } from '../environment/interpolate.js'
import { createConfigInvalid } from '../problem.js'
import type { Config } from '../schema/schema.js'
import { CURRENT_VERSION } from '../version.js'
import { checkText } from './check-text.js'

/** A configuration that nothing is wrong with. */
export type ValidConfig = Checked & { readonly config: Config }

/** A configuration that was read, and where it came from. */
export interface ConfigSource {
  readonly checked: ValidConfig
  /** The file; absent for an object. */
  readonly file: string | undefined
  /** Where relative paths begin. */
  readonly dir: string
  /** What the file held. */
  readonly text: string | undefined
  /** Why the file was not taken, where the ready policies stand in for it. */
  readonly loadError: unknown
}

const EMPTY_CONFIG = { version: CURRENT_VERSION }

/** Reads a configuration for the first time. @throws CONFIG_INVALID unless `fallback` */
export async function loadSource(
  input: string | object | undefined,
  env: Environment,
  fallback: boolean,
): Promise<ConfigSource> {
  const file = typeof input === 'string' ? resolve(input) : undefined
  const dir = file === undefined ? process.cwd() : dirname(file)
  try {
    if (file === undefined)
      return {
        checked: requireValid(checkObject(input ?? EMPTY_CONFIG, env), file),
        file,
        dir,
        text: undefined,
        loadError: undefined,
      }
    const text = await readConfigText(file)
    return {
      checked: requireValid(await checkText(text, { file, env }), file),
      file,
      dir,
      text,
      loadError: undefined,
    }
  } catch (loadError) {
    if (!fallback) throw loadError
    return {
      checked: requireValid(checkObject(EMPTY_CONFIG, {}), undefined),
      file,
      dir,
      text: undefined,
      loadError,
    }
  }
}

/** What a file holds. @throws CONFIG_INVALID */
export async function readConfigText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const why =
      (error as { code?: string }).code === 'ENOENT' ? 'there is no such file' : errorMessageOf(error)
    throw createConfigInvalid(file, [{ path: '', message: `cannot be read: ${why}` }])
  }
}

/** What was checked, if nothing is wrong with it. */
export function requireValid(checked: Checked, file: string | undefined): ValidConfig {
  if (checked.config === undefined) throw createConfigInvalid(file ?? 'the config', checked.problems, file)
  return checked as ValidConfig
}
