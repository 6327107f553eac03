import type { Logger } from '@holdfast/runtime'
import type { Clock, Duration } from 'holdfast'
import { createOptionsError, defaultsOf, type OptionProblem, parseOptions } from 'holdfast/internal'
import { APP_SPEC } from './app-option-rules.js'

/** The options of an app. */
export interface AppOptions {
  /** The address at which the server listens. A token is always required unless it is a loopback address. @defaultValue '127.0.0.1' */
  host?: string | undefined
  /** Further names that the Host header can have as long as no token is required. @defaultValue none */
  allowedHosts?: readonly string[] | undefined
  /** The maximum size of a request body in bytes. @defaultValue 1048576 */
  maxBody?: number | undefined
  /** The interval of heartbeat comments in the event stream. @defaultValue '15s' */
  heartbeat?: Duration | undefined
  /** How many bytes can wait for a reader of the event stream before it is disconnected. @defaultValue 262144 */
  readerBuffer?: number | undefined
  /** The maximum number of readers of the event stream at a time. @defaultValue 1000 */
  maxReaders?: number | undefined
  /** The folder of the dashboard's files; false serves none. @defaultValue the one in this package */
  dashboard?: string | false | undefined
  /** Whether `POST /request` can reach private addresses. @defaultValue `proxy.allow_private_targets` of the file */
  allowPrivateTargets?: boolean | undefined
  /** The source of time. @defaultValue the system clock */
  clock?: Clock | undefined
  /** Receives unexpected errors. @defaultValue one line on stderr for each */
  logger?: Pick<Logger, 'error'> | undefined
}

/** {@link AppOptions} with all defaults filled in. */
export interface AppSettings
  extends Required<
    Omit<
      { [K in keyof AppOptions]: Exclude<AppOptions[K], undefined> },
      'heartbeat' | 'dashboard' | 'allowPrivateTargets'
    >
  > {
  readonly heartbeat: number
  readonly dashboard: string | false | undefined
  readonly allowPrivateTargets: boolean | undefined
}

const APP_DEFAULTS = defaultsOf(APP_SPEC) as AppSettings

/** Checks the options of an app. @throws INVALID_OPTIONS that lists every problem */
export function parseAppOptions(input: AppOptions): AppSettings {
  const problems: OptionProblem[] = []
  const settings = parseOptions('', input, APP_DEFAULTS, APP_SPEC, problems)
  if (problems.length > 0) throw createOptionsError('invalid server options', problems)
  return settings
}
