import { CONFIG_DEFAULTS } from '@holdfast/config'
import type { Logger } from '@holdfast/runtime'
import type { Duration } from 'holdfast'
import { type Clock, HoldfastError } from 'holdfast'
import { parseDuration, systemClock } from 'holdfast/internal'
import { z } from 'zod'

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

const integerFrom = (least: number) =>
  z
    .int({ error: `expected a whole number from ${least}` })
    .min(least, `expected a whole number from ${least}`)

const optionsSchema = z.strictObject({
  host: z.string().min(1, 'expected a name or an address').default(CONFIG_DEFAULTS.server.host),
  allowedHosts: z.array(z.string()).readonly().default([]),
  maxBody: integerFrom(1024).default(1_048_576),
  heartbeat: z
    .custom<Duration>((value) => parseDuration(value as Duration) > 0, 'expected a duration above 0')
    .default('15s')
    .transform((value) => parseDuration(value)),
  readerBuffer: integerFrom(4096).default(262_144),
  maxReaders: integerFrom(1).default(1000),
  dashboard: z.union([z.string(), z.literal(false)]).optional(),
  allowPrivateTargets: z.boolean().optional(),
  clock: z
    .custom<Clock>((value) => typeof (value as Clock | null)?.setTimer === 'function', 'expected a Clock')
    .default(systemClock),
  logger: z
    .custom<Pick<Logger, 'error'>>(
      (value) => typeof (value as Logger | null)?.error === 'function',
      'expected a logger with error(fields, message)',
    )
    .default({ error: (fields, message) => console.error(`holdfast: ${message}`, fields) }),
})

/** Checks the options of an app. @throws INVALID_OPTIONS that lists every problem */
export function parseAppOptions(input: AppOptions): AppSettings {
  const read = optionsSchema.safeParse(input)
  if (read.success) return read.data as AppSettings
  const details = read.error.issues.map(({ path, message }) => `${path.join('.') || 'options'}: ${message}`)
  throw new HoldfastError('INVALID_OPTIONS', `invalid server options: ${details.join('; ')}`, { details })
}
