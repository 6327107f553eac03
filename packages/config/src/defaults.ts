import { DAY_MS } from '@holdfast/records'

const SECOND_MS = 1000

/**
 * The default values of the sections of the config file. The code that uses a section and the description of its keys read
 * them here. The defaults of policies are in `POLICY_FIELDS`, those of breakers in the core.
 */
export const CONFIG_DEFAULTS = {
  store: 'sqlite:data/holdfast.db',
  /** `minimumCalls` is the number of calls that a node needs for a vote, if the breaker does not set it. */
  share: { share: 'quorum', quorum: 0.5, minimumCalls: 5 },
  /** `memberFaults` are the statuses with which a proxy reports its own failure, or a target its block of the proxy. */
  pool: { memberFaults: [403, 407, 429, 451], probeInterval: 30 * SECOND_MS },
  deadLetters: {
    enabled: true,
    maxEntries: 100_000,
    maxAge: 30 * DAY_MS,
    maxPayload: 2 ** 20,
    whenFull: 'report',
  },
  sessions: { maxAge: 7 * DAY_MS, maxEntries: 1_000_000 },
  events: { maxAge: 7 * DAY_MS, maxEntries: 1_000_000 },
  audit: { maxAge: 365 * DAY_MS, maxEntries: 1_000_000 },
  errors: { maxAge: 14 * DAY_MS, maxEntries: 1_000_000 },
  errorLog: { maxAge: 14 * DAY_MS, maxSize: 10 * 2 ** 20 },
  metrics: { retentionHours: 24, maxCurrentAttempts: 10_000 },
  server: {
    host: '127.0.0.1',
    port: 8000,
    headerTimeout: 10 * SECOND_MS,
    requestTimeout: 60 * SECOND_MS,
    idleTimeout: 60 * SECOND_MS,
    maxConnections: 10_000,
  },
  /** `@holdfast/proxy` does not know config files and has its own; a test of the server compares them. */
  proxy: {
    host: '127.0.0.1',
    port: 8080,
    allowPrivateTargets: false,
    maxConnections: 10_000,
    idleTimeout: 120 * SECOND_MS,
    workers: 1,
    maxHeaderSize: 65_536,
  },
  node: { heartbeat: 2 * SECOND_MS },
} as const
