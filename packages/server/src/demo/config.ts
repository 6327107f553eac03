/** The addresses of the demo services. */
export interface DemoAddresses {
  readonly proxies: readonly { readonly id: string; readonly url: string; readonly region: string }[]
}

/** The config file of the demo. It is rewritten at each start, because the ports change; it can be edited while the demo runs. */
export const formatDemoConfig = ({
  proxies,
}: DemoAddresses): string => `# The config file of the demo: change it while the demo runs and watch the effect.
# It is rewritten at every start.
version: "1.2.0"

global_defaults: { jitter_type: full, jitter_amount: 0.5 }

policies:
  # An API that recovers: a few attempts with short delays.
  weather: { name: Weather, max_attempts: 4, base_delay: 0.1, max_delay: 1, attempt_timeout: 2, circuit_breaker: weather }
  # An API that never responds: its breaker opens, and calls are rejected at once.
  legacy: { name: Legacy, max_attempts: 2, base_delay: 0.1, max_delay: 0.5, attempt_timeout: 1, circuit_breaker: legacy }
  # An API that sends Retry-After.
  search: { name: Search, max_attempts: 3, base_delay: 0.2, max_delay: 2, max_retry_after: 5, budget: { ratio: 0.5, reserve_per_second: 2, window: 10 } }
  # Requests through unreliable proxies: the next proxy is tried at once.
  crawl: { name: Crawl, max_attempts: 5, base_delay: 0.05, max_delay: 0.5, attempt_timeout: 3 }
  # The steps of a pipeline, whose last step sometimes fails after all retries.
  pipeline: { name: Pipeline, max_attempts: 2, base_delay: 0.1, max_delay: 1 }

circuit_breakers:
  weather: { failure_threshold: 8, success_threshold: 4, window_duration: 10, timeout_duration: 3, persist_state: true }
  legacy: { failure_threshold: 4, window_duration: 30, timeout_duration: 8, timeout_multiplier: 2, max_timeout_duration: 60, persist_state: true }

subsystem_mappings:
  mail:
    fetch: { default: pipeline }
    enrich: { default: pipeline }
    save: { timeout: pipeline, default: pipeline }

pools:
  proxies:
    strategy: score               # with round_robin the unreliable ones are used as often as the others
    policy: crawl
    circuit_breaker: { failure_threshold: 5, window_duration: 30, timeout_duration: 6 }
    members:
${proxies.map(({ id, url, region }) => `      - { id: ${id}, url: "${url}", region: ${region} }`).join('\n')}

dead_letters: { max_entries: 10000, max_age: 7d }
store: sqlite:holdfast.db
server: { host: 127.0.0.1, port: 8000 }
# Private targets are allowed, because the demo services run on this machine.
proxy: { host: 127.0.0.1, port: 8080, pool: proxies, allow_private_targets: true }
`
