/**
 * Parts of the proxy for the packages that are built on it. They can change with every release; applications use
 * `@holdfast/proxy` itself.
 *
 * @packageDocumentation
 */

export { escapeHtml } from '../html.js'
export { upstreamOf } from '../members/member.js'
export { HOP_BY_HOP_HEADERS } from '../server/headers.js'
export { PROXY_DEFAULTS } from '../server/options.js'
