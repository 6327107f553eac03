/**
 * Health checks of guards and the runtime for Terminus 11.
 *
 * @packageDocumentation
 */

export { type BreakerCheckOptions, HoldfastHealthIndicator } from './health-indicator.js'
