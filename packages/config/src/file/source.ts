import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { errorMessageOf } from '@holdfast/records'
import { checkObject } from '../check/check.js'
import type { CheckResult } from '../check/check-input.js'
import type { Environment } from '../environment/interpolate.js'
import { createConfigInvalid } from '../problems/describe.js'
import type { Config } from '../schema/schema.js'
import { CURRENT_VERSION } from '../version.js'
import { checkText } from './check-text.js'

/** A valid configuration. */
export type ValidConfig = CheckResult & { readonly config: Config }

/** A loaded configuration and its source. */
export interface ConfigSource {
  /** The checked configuration. */
  readonly checked: ValidConfig
  /** The config file; undefined for an object. */
  readonly file: string | undefined
  /** The base folder of relative paths. */
  readonly dir: string
  /** The text of the file. */
  readonly text: string | undefined
  /** The reason why the built-in policies replace the file, if they do. */
  readonly loadError: unknown
}

const EMPTY_CONFIG = { version: CURRENT_VERSION }

/** Loads a configuration for the first time. @throws CONFIG_INVALID unless `fallback` */
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

/** Reads the text of a file. @throws CONFIG_INVALID */
export async function readConfigText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const why = (error as { code?: string }).code === 'ENOENT' ? 'file not found' : errorMessageOf(error)
    throw createConfigInvalid(file, [{ path: '', code: 'not_readable', expected: 'a file', got: why }])
  }
}

/** Returns a valid configuration. @throws CONFIG_INVALID */
export function requireValid(checked: CheckResult, file: string | undefined): ValidConfig {
  if (checked.config === undefined) throw createConfigInvalid(file ?? 'the config', checked.problems, file)
  return checked as ValidConfig
}
