import { formatValue } from '../problem.js'
import { ConfigMigrator } from './config-migrator.js'
import { isMapping } from './mapping.js'

/** One old file. */
export interface OldFile {
  /** Its name, which names the subsystem where the file does not. */
  file: string
  text: string
}

/** Something that a person should look at. */
export interface MigrationProblem {
  file?: string
  path: string
  message: string
}

/** What became of old settings. */
export interface MigrationReport {
  /** Policies that had to be changed, and those that are as they were. */
  converted: number
  unchanged: number
  /** What was left out, guessed, or is wrong in the result. */
  problems: MigrationProblem[]
  /** What was found, and what is there now: the pairs are equal where nothing was lost. */
  integrity: {
    policiesIn: number
    policiesOut: number
    mappingsIn: number
    mappingsOut: number
    breakersIn: number
    breakersOut: number
    /** Whether nothing was lost and the result can be used. */
    ok: boolean
  }
}

/** A config of version 1.1.0, and how it came about. */
export interface Migration {
  /** The text of the new file. */
  text: string
  report: MigrationReport
}

/**
 * Makes a config file of version 1.1.0 of old settings: of a file of version 1.0, of settings of retries and breakers in
 * other words, by themselves or by subsystem and operation, or of a folder of such files. What was given is not changed.
 * Nothing is thrown for what cannot be understood: the report says what was left out or guessed.
 *
 * @example
 * ```ts
 * import { migrateConfig, parseConfig } from '@holdfast/runtime'
 *
 * const old = [{ file: 'browser.json', text: '{ "state": { "maxRetries": 4, "initialDelayMs": 250 } }' }]
 * const { text, report } = migrateConfig(old)
 * report.integrity.ok // => true
 * parseConfig(text).policies // => { browser_state: { maxAttempts: 5, baseDelay: 250 } }
 * parseConfig(text).subsystemMappings // => { browser: { state: { default: 'browser_state' } } }
 * ```
 */
export function migrateConfig(input: string | object | readonly OldFile[]): Migration {
  const migrator = new ConfigMigrator()
  if (!Array.isArray(input)) migrator.add(undefined, input)
  else if (input.length === 0) migrator.reject(undefined, 'got no files, takes at least one')
  else
    for (const [i, entry] of (input as readonly unknown[]).entries()) {
      const { file, text } = isMapping(entry) ? entry : {}
      if (typeof file === 'string' && text !== undefined) migrator.add(file, text)
      else migrator.reject(undefined, `entry ${i + 1}: got ${formatValue(entry)}, takes { file, text }`)
    }
  return migrator.finish()
}
