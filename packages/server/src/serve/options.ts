import type { Config } from '@holdfast/config'
import {
  createOptionsError,
  defaultsOf,
  listenPort,
  type OptionProblem,
  type OptionSpecOf,
  parseOptions,
} from 'holdfast/internal'
import { APP_SPEC } from '../app-option-rules.js'
import { DEFAULT_PORT } from '../defaults.js'
import type { AppOptions, AppSettings } from '../options.js'
import { LIMIT_SPEC } from './limit-rules.js'
import type { LimitOptions, ServerLimits } from './limits.js'

/** The options of a server: those of its app, its limits and its address. */
export interface ServeOptions extends AppOptions, LimitOptions {
  /** The port; 0 selects a free one. @defaultValue `server.port` of the file, else 8000 */
  port?: number | undefined
  /** The files of a certificate and its key, for HTTPS. @defaultValue `server.tls` of the file */
  tls?: { cert: string; key: string } | undefined
}

/** {@link ServeOptions} with all defaults filled in. */
export interface ServeSettings extends AppSettings, ServerLimits {
  readonly port: number
  readonly tls: { readonly cert: string; readonly key: string } | undefined
}

/** The default value and the rule of each option. */
const SERVE_SPEC: OptionSpecOf<ServeOptions> = {
  ...APP_SPEC,
  ...LIMIT_SPEC,
  port: [DEFAULT_PORT, listenPort],
  tls: [undefined, ['an object with the files cert and key', isCertificateFiles]],
}

function isCertificateFiles(value: unknown): boolean {
  const { cert, key } = Object(value) as { cert?: unknown; key?: unknown }
  return typeof cert === 'string' && typeof key === 'string'
}

const SERVE_DEFAULTS = defaultsOf(SERVE_SPEC) as ServeSettings

/** Checks the options of a server. They have precedence over the file, the file over the defaults. @throws INVALID_OPTIONS */
export function parseServeOptions(input: ServeOptions, file: NonNullable<Config['server']>): ServeSettings {
  const problems: OptionProblem[] = []
  const { host, port, tls, headerTimeout, requestTimeout, idleTimeout, maxConnections } = file
  const fromFile = { host, port, tls, headerTimeout, requestTimeout, idleTimeout, maxConnections }
  const defaults = parseOptions('', fromFile, SERVE_DEFAULTS, SERVE_SPEC, problems)
  const settings = parseOptions('', input, defaults, SERVE_SPEC, problems)
  if (problems.length > 0) throw createOptionsError('invalid server options', problems)
  return settings
}
