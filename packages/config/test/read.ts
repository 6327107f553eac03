import { readFileSync } from 'node:fs'
import { isHoldfastError } from 'holdfast'
import { type Checked, checkConfig, type ParseOptions } from '../src/check/check.js'
import { type ConfigInvalid, type Problem } from '../src/problems/describe.js'
import { type ResolvedConfig, resolveConfig } from '../src/resolve/resolve-config.js'
import type { Layer } from '../src/schema/layer.js'

/** The text of a fixture. */
export const fixture = (name: string): string =>
  readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8')

/** A text of version 1.1.0, whatever the environment of the tests holds. */
export const check = (body: string, options: ParseOptions = {}): Checked =>
  checkConfig(`version: "1.1.0"\n${body}`, { file: 'hf.yaml', env: {}, ...options })

/** What is wrong with a text, each as `path: message`. */
export const wrong = (body: string, options?: ParseOptions): string[] => lines(check(body, options).problems)

export const lines = (problems: readonly Problem[]): string[] =>
  problems.map(({ path, message }) => `${path}: ${message}`)

/** A config with its policies filled in; it must be sound. */
export function resolved(body: string, layer?: Layer, options: ParseOptions = {}): ResolvedConfig {
  const { config, problems, places } = check(body, options)
  if (config === undefined) throw new Error(lines(problems).join('\n'))
  return resolveConfig({ config, places, file: 'hf.yaml' }, layer)
}

/** The CONFIG_INVALID that a function throws. */
export function refused(fn: () => unknown): ConfigInvalid {
  try {
    fn()
  } catch (error) {
    if (isHoldfastError(error, 'CONFIG_INVALID')) return error as ConfigInvalid
    throw error
  }
  throw new Error('it was taken')
}
