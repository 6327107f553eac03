// The config files of the processes.

// Retention is short, so that the stores reach their final size during the warm-up and any later growth is visible.
const RETENTION = `
sessions: { max_entries: 5000 }
events: { max_entries: 20000 }
errors: { max_entries: 5000 }
audit: { max_entries: 2000 }
metrics: { retention_hours: 0.1, max_current_attempts: 5000 }
`

const BREAKER = 'failure_threshold: 8, window_duration: 10, timeout_duration: 1, half_open_max: 1'

const NODE_POLICIES = (/** @type {string} */ maxDelay, /** @type {boolean} */ isShared) => `
policies:
  save: { max_attempts: 3, backoff_type: exponential, base_delay: 0.02, max_delay: ${maxDelay}, jitter_type: full, attempt_timeout: 1, circuit_breaker: orders, budget: { ratio: 0.5, reserve_per_second: 10, window: 10, shared: ${isShared} } }
  read: { max_attempts: 3, base_delay: 0.02, max_delay: ${maxDelay}, jitter_type: full, attempt_timeout: 1, circuit_breaker: reads, bulkhead: { limit: 50, queue: 50 } }
  send: { max_attempts: 4, backoff_type: immediate, attempt_timeout: 1, hedge: { delay: 0.5 } }
  local: { max_attempts: 2, backoff_type: immediate }
circuit_breakers:
  orders: { ${BREAKER} }
  reads: { ${BREAKER}, failure_rate: 0.6, minimum_calls: 20 }
subsystem_mappings:
  shop: { orders: { default: save }, read: { default: read } }
  mail: { send: { default: send } }
  local: { compute: { default: local } }
`

/** @param {readonly number[]} ports */
const members = (ports) => ports.map((port) => `{ url: "http://127.0.0.1:${port}" }`).join(', ')

/**
 * A node that makes calls. Its config is written again while it runs, with another `maxDelay`.
 *
 * @param {{ id: string, store: string, shared?: string, servicePorts: readonly number[], maxDelay?: string }} node
 */
export const nodeConfig = ({ id, store, shared, servicePorts, maxDelay = '0.2' }) => `version: "1.2.0"
store: ${store}
${shared === undefined ? '' : `shared: ${shared}\nnode: { id: ${id} }\n`}${NODE_POLICIES(maxDelay, shared !== undefined)}
pools:
  services: { strategy: least_used, policy: send, circuit_breaker: { ${BREAKER} }, members: [${members(servicePorts)}] }
dead_letters: { operations: [shop.orders] }
${RETENTION}`

/** The server: it shares its store with a worker. @param {{ store: string, handlers: string, proxyPorts: readonly number[] }} server */
export const serverConfig = ({ store, handlers, proxyPorts }) => `version: "1.2.0"
store: ${store}
policies:
  rotate: { max_attempts: 4, backoff_type: immediate, attempt_timeout: 1, total_timeout: 8 }
pools:
  proxies: { strategy: least_used, policy: rotate, circuit_breaker: { ${BREAKER} }, members: [${members(proxyPorts)}] }
proxy: { port: 0, pool: proxies, allow_private_targets: true }
dead_letters: { operations: [shop.orders], handlers: "${handlers}" }
${RETENTION}`

/** The forward proxy. @param {{ port: number, proxyPorts: readonly number[] }} proxy */
export const proxyConfig = ({ port, proxyPorts }) => `version: "1.2.0"
store: sqlite:proxy.db
policies:
  rotate: { max_attempts: 4, backoff_type: immediate, attempt_timeout: 1, total_timeout: 8 }
pools:
  proxies: { strategy: least_used, policy: rotate, circuit_breaker: { ${BREAKER} }, members: [${members(proxyPorts)}] }
proxy: { port: ${port}, pool: proxies, allow_private_targets: true }
${RETENTION}`
