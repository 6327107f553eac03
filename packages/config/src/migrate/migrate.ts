import { isMapping } from '../mapping.js'
import { formatValue } from '../problems/format-value.js'
import { ConfigMigrator } from './config-migrator.js'

/** An old file. */
export interface OldFile {
  /** The name of the file. It is the subsystem if the file names none. */
  file: string
  /** The text of the file. */
  text: string
}

/** A note for a review by a person. */
export interface MigrationProblem {
  /** The file of the problem, if there are several. */
  file?: string
  /** The keys that lead to the value, separated by dots. */
  path: string
  /** What was ignored, guessed or is not valid. */
  message: string
}

/** The result of a migration. */
export interface MigrationReport {
  /** The number of policies that were changed. */
  converted: number
  /** The number of policies that were not changed. */
  unchanged: number
  /** Everything that was ignored, guessed, or is not valid in the result. */
  problems: MigrationProblem[]
  /** The counts of the input and of the result. They are equal if nothing was lost. */
  integrity: {
    policiesIn: number
    policiesOut: number
    mappingsIn: number
    mappingsOut: number
    breakersIn: number
    breakersOut: number
    /** Whether nothing was lost and the result is valid. */
    ok: boolean
  }
}

/** A migrated config with its report. */
export interface Migration {
  /** The text of the new file. */
  text: string
  /** The counts of the migration and its problems. */
  report: MigrationReport
}

/**
 * Creates a config file of version 1.1.0, or 1.2.0 if the input has that version, from old settings: a file of version 1.0,
 * retry and breaker settings with other names, alone or by subsystem and operation, or a folder of such files. The input is
 * not changed. Settings that cannot be understood do not throw: the report says what was ignored or guessed.
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
  else if (input.length === 0) migrator.reject(undefined, 'expected at least one file, got none')
  else
    for (const [i, entry] of (input as readonly unknown[]).entries()) {
      const { file, text } = isMapping(entry) ? entry : {}
      if (typeof file === 'string' && text !== undefined) migrator.add(file, text)
      else migrator.reject(undefined, `entry ${i + 1}: expected { file, text }, got ${formatValue(entry)}`)
    }
  return migrator.finish()
}
