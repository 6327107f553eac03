import { CONFIG_DEFAULTS } from '@holdfast/config'
import { integerFrom, type OptionSpecOf, timerDuration } from 'holdfast/internal'
import type { LimitOptions } from './limits.js'

const DEFAULTS = CONFIG_DEFAULTS.server

/** The default value and the rule of each limit. */
export const LIMIT_SPEC: OptionSpecOf<LimitOptions> = {
  headerTimeout: [DEFAULTS.headerTimeout, timerDuration],
  requestTimeout: [DEFAULTS.requestTimeout, timerDuration],
  idleTimeout: [DEFAULTS.idleTimeout, timerDuration],
  maxConnections: [DEFAULTS.maxConnections, integerFrom(1)],
}
