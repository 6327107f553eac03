import { CONFIG_DEFAULTS } from '@holdfast/config'
import type { Logger } from '@holdfast/runtime'
import {
  clockOption,
  integerFrom,
  nonEmptyString,
  type OptionSpecOf,
  ofType,
  systemClock,
  timerDuration,
} from 'holdfast/internal'
import type { AppOptions } from './options.js'

/** The default value and the rule of each option of an app. */
export const APP_SPEC: OptionSpecOf<AppOptions> = {
  host: [CONFIG_DEFAULTS.server.host, nonEmptyString],
  allowedHosts: [
    [],
    [
      'an array of strings',
      (value: unknown) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
    ],
  ],
  maxBody: [1_048_576, integerFrom(1024)],
  heartbeat: [15_000, timerDuration],
  readerBuffer: [262_144, integerFrom(4096)],
  maxReaders: [1000, integerFrom(1)],
  dashboard: [
    undefined,
    ['a folder, or false', (value: unknown) => typeof value === 'string' || value === false],
  ],
  allowPrivateTargets: [undefined, ofType('boolean')],
  clock: [systemClock, clockOption],
  logger: [
    { error: (fields: object, message: string) => console.error(`holdfast: ${message}`, fields) },
    [
      'a logger with error(fields, message)',
      (value: unknown) => typeof (value as Logger | null)?.error === 'function',
    ],
  ],
}
