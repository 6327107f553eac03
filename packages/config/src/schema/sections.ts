import { DAY_MS } from '@holdfast/records'
import { z } from 'zod'
import { RETENTION } from '../retention.js'
import {
  anyString,
  atLeastOne,
  booleanValue,
  byteCount,
  countUpTo,
  fraction,
  httpStatus,
  listOf,
  matcherName,
  networkTimeout,
  nonEmptyString,
  nonNegativeInteger,
  nonNegativeNumber,
  nullableKey,
  oneOf,
  optionalKey,
  portNumber,
  positiveDuration,
  positiveFraction,
  positiveInteger,
  requiredKey,
  safePattern,
  secretString,
  secretStrings,
  shortWord,
  targetPort,
  urlWithScheme,
} from './fields.js'

/** A larger number of processes is probably a mistake. */
const MAX_PROXY_WORKERS = 256

/** The maximum length of a node id. Other nodes ignore longer ids. */
const MAX_NODE_ID_LENGTH = 512

/** A named breaker, or the breaker of a pool's members. */
export const breakerEntrySchema = z.strictObject({
  failure_threshold: optionalKey(
    positiveInteger(),
    'The number of failures in the window that opens the breaker. Default 5.',
  ),
  success_threshold: optionalKey(
    positiveInteger(),
    'The number of successful probes that closes the breaker. Default 1.',
  ),
  window_type: optionalKey(
    oneOf('rolling', 'consecutive', 'rate'),
    'How failures are counted while the breaker is closed. Default rolling.',
  ),
  window_duration: optionalKey(
    positiveDuration(),
    'The length of a rolling or rate window. Default 60 seconds.',
  ),
  timeout_duration: optionalKey(
    positiveDuration(),
    'How long the breaker stays open before it allows a probe. Default 30 seconds.',
  ),
  timeout_multiplier: optionalKey(
    atLeastOne(),
    'The factor by which the open duration grows with each consecutive opening. Default 1.',
  ),
  max_timeout_duration: optionalKey(positiveDuration(), 'The maximum open duration.'),
  failure_rate: optionalKey(
    positiveFraction(),
    'The fraction of failed calls that opens the breaker. Implies window_type rate.',
  ),
  minimum_calls: optionalKey(
    positiveInteger(),
    'The minimum number of calls in a rate window before the breaker can open. Default 10.',
  ),
  slow_call_duration: optionalKey(
    positiveDuration(),
    'A call that takes at least this long is slow. Requires slow_call_rate.',
  ),
  slow_call_rate: optionalKey(
    positiveFraction(),
    'The fraction of slow calls that opens the breaker. Requires slow_call_duration.',
  ),
  half_open_max: optionalKey(positiveInteger(), 'The maximum number of concurrent probes. Default 1.'),
  probe_lease: optionalKey(
    positiveDuration(),
    'How long a probe may take before another call can become the probe.',
  ),
  adaptive: optionalKey(
    booleanValue(),
    'Lowers the threshold for a target that failed often in its last 200 calls. Default false.',
  ),
  persist_state: optionalKey(
    booleanValue(),
    'Restores the state of the breaker after a restart. Default false.',
  ),
  share: optionalKey(
    oneOf('none', 'state', 'counts', 'quorum'),
    'What the nodes of a fleet share about the breaker. Default quorum if `shared` is set.',
  ),
  quorum: optionalKey(
    positiveFraction(),
    'The fraction of nodes that must agree before the breaker opens in the fleet. Default 0.5.',
  ),
})

/** Kinds of failure, each with the names and codes of its errors. */
export const errorKindsSchema = z.record(z.string(), listOf(matcherName()))

/** A member of a pool. */
export const memberSchema = z.strictObject({
  id: optionalKey(nonEmptyString(), 'The id of the member. Default: host and port of its url.'),
  url: requiredKey(
    urlWithScheme('http', 'https', 'socks5', 'socks5h'),
    'The URL of the member; can contain credentials. socks5:// and socks5h:// are equivalent: the proxy resolves host names.',
  ),
  weight: optionalKey(
    nonNegativeNumber(),
    'The relative frequency with which the member is selected. Default 1.',
  ),
  region: optionalKey(anyString(), 'The region of the member.'),
  cost: optionalKey(nonNegativeNumber(), 'The cost of a call through the member. Default 0.'),
  tags: optionalKey(listOf(anyString()), 'Labels of the member.'),
  circuit_breaker: optionalKey(breakerEntrySchema.clone(), 'Settings of the breaker of this member.'),
})

export const poolSchema = z.strictObject({
  strategy: optionalKey(
    oneOf(
      'round_robin',
      'random',
      'weighted',
      'least_used',
      'least_latency',
      'score',
      'sticky',
      'region',
      'cost',
    ),
    'How a member is selected. Default round_robin.',
  ),
  policy: optionalKey(nonEmptyString(), 'The policy of calls through the pool.'),
  circuit_breaker: optionalKey(
    breakerEntrySchema.clone(),
    'Settings of the breakers of the members: when a member is ejected, and for how long.',
  ),
  members: optionalKey(listOf(memberSchema), 'The members of the pool.'),
  members_file: optionalKey(
    nonEmptyString(),
    'A file with more members: lines, JSON or CSV. The path is relative to the config file.',
  ),
  member_faults: optionalKey(
    listOf(httpStatus()),
    'HTTP statuses that count as failures of the member, not of the request.',
  ),
  max_ejected: optionalKey(
    fraction(),
    'The maximum fraction of members that can be ejected at the same time.',
  ),
  probe: optionalKey(
    z.strictObject({
      interval: optionalKey(positiveDuration(), 'How often ejected members are probed.'),
      url: optionalKey(urlWithScheme('http', 'https'), 'The URL that a probe requests.'),
    }),
    'Probes of ejected members.',
  ),
})

export const deadLettersSchema = z.strictObject({
  enabled: optionalKey(booleanValue(), 'Stores dead letters. Default true.'),
  operations: optionalKey(
    listOf(nonEmptyString()),
    'The operations whose failed calls are stored. Default: all.',
  ),
  skip_kinds: optionalKey(listOf(nonEmptyString()), 'Kinds of failure that are not stored.'),
  handlers: optionalKey(nonEmptyString(), 'A module that exports a handler for each operation.'),
  max_entries: optionalKey(positiveInteger(), 'The maximum number of stored entries. Default 100000.'),
  max_age: optionalKey(positiveDuration(), 'How long entries are stored. Default 30 days.'),
  max_payload: optionalKey(positiveInteger(), 'The maximum size of a payload in bytes. Default 1048576.'),
  when_full: optionalKey(
    oneOf('report', 'refuse'),
    'What happens when max_entries is reached: report it, or reject new calls with a payload. Default report.',
  ),
  encryption_key: optionalKey(
    secretStrings(),
    'Encrypts payloads and the credentials of members added through the API: 32 bytes in base64 or hex; use ${VAR}. In a list, the first key encrypts and all keys decrypt; put the newest first.',
  ),
})

/** The retention of one kind of record in the store. */
const retention = (retentionSchema: { readonly maxAge: number; readonly maxEntries: number }, more = '') =>
  z.strictObject({
    max_age: optionalKey(
      positiveDuration(),
      `How long records are stored. Default ${retentionSchema.maxAge / DAY_MS} days${more}.`,
    ),
    max_entries: optionalKey(
      positiveInteger(),
      `The maximum number of stored records; the oldest are deleted first. Default ${retentionSchema.maxEntries}.`,
    ),
  })

export const sectionsShape = {
  error_log: optionalKey(
    z.strictObject({
      dir: optionalKey(
        nonEmptyString(),
        'The folder of the log files. The path is relative to the config file.',
      ),
      max_age: optionalKey(
        positiveDuration(),
        `How long log files are kept; also the default of errors.max_age. Default ${RETENTION.errors.maxAge / DAY_MS} days.`,
      ),
      max_size: optionalKey(
        positiveInteger(),
        'The maximum size of a log file in bytes; then a new file is started. Default 10485760.',
      ),
    }),
    'Writes errors as JSON lines, one file per severity and day.',
  ),
  sessions: optionalKey(retention(RETENTION.sessions), 'Retention of sessions.'),
  events: optionalKey(retention(RETENTION.events), 'Retention of events and of breaker state changes.'),
  audit: optionalKey(retention(RETENTION.audit), 'Retention of audit records.'),
  errors: optionalKey(
    retention(RETENTION.errors, ', or error_log.max_age if that is set'),
    'Retention of error records in the store.',
  ),
  metrics: optionalKey(
    z.strictObject({
      retention_hours: optionalKey(
        nonNegativeNumber(),
        'The number of hours for which detailed metrics are kept. Default 24.',
      ),
      max_current_attempts: optionalKey(
        nonNegativeInteger(),
        'The maximum number of individual attempts kept for the current hour. Default 10000.',
      ),
    }),
    'Retention of metrics.',
  ),
  server: optionalKey(
    z.strictObject({
      host: optionalKey(nonEmptyString(), 'The address it listens on. Default 127.0.0.1.'),
      port: optionalKey(portNumber(), 'The port it listens on. Default 8000.'),
      tls: optionalKey(
        z.strictObject({
          cert: optionalKey(nonEmptyString(), 'The path of the certificate file.'),
          key: optionalKey(nonEmptyString(), 'The path of the key file.'),
        }),
        'Serves HTTPS.',
      ),
      header_timeout: optionalKey(
        networkTimeout(),
        'How long a client may take to send the headers of a request; at most request_timeout. Default 10 seconds.',
      ),
      request_timeout: optionalKey(
        networkTimeout(),
        'How long a client may take to send a whole request, including its body. Default 60 seconds.',
      ),
      idle_timeout: optionalKey(
        networkTimeout(),
        'How long a connection without a request stays open. Default 60 seconds.',
      ),
      max_connections: optionalKey(
        positiveInteger(),
        'The maximum number of open connections; further connections are closed immediately. Default 10000.',
      ),
    }),
    'The HTTP server.',
  ),
  proxy: optionalKey(
    z.strictObject({
      host: optionalKey(nonEmptyString(), 'The address it listens on. Default 127.0.0.1.'),
      port: optionalKey(portNumber(), 'The port it listens on. Default 8080.'),
      pool: optionalKey(nonEmptyString(), 'The pool through which requests are sent.'),
      users: optionalKey(
        listOf(
          z.strictObject({
            name: requiredKey(nonEmptyString(), 'The name of the user.'),
            password: requiredKey(secretString(), 'The password of the user; use ${VAR}.'),
          }),
        ),
        'The users of the proxy. Without it, every client that reaches the proxy can use it.',
      ),
      allow_private_targets: optionalKey(
        booleanValue(),
        'Whether clients may connect to private addresses. Default false.',
      ),
      max_connections: optionalKey(
        positiveInteger(),
        'The maximum number of open connections. Default 10000.',
      ),
      idle_timeout: optionalKey(
        positiveDuration(),
        'How long a connection without traffic stays open. Default 120 seconds.',
      ),
      connect_ports: optionalKey(
        listOf(targetPort()),
        'The ports to which CONNECT may open tunnels, such as [443]. Default: all. An empty list: none.',
      ),
      workers: optionalKey(
        countUpTo(MAX_PROXY_WORKERS),
        'The number of processes that serve requests. They share one port and their state. Default 1.',
      ),
      max_header_size: optionalKey(
        byteCount(512, 2 ** 20),
        'The maximum size of the headers of a request or response in bytes. Default 65536.',
      ),
    }),
    'The rotating forward proxy.',
  ),
  redact: optionalKey(
    z.strictObject({
      keys: optionalKey(listOf(nonEmptyString()), 'Keys whose values are never recorded.'),
      patterns: optionalKey(listOf(safePattern()), 'Regular expressions; matching text is never recorded.'),
    }),
    'Values that are removed from all records, in addition to the values that are always removed.',
  ),
  alerts: optionalKey(
    z.strictObject({
      webhook: optionalKey(urlWithScheme('http', 'https'), 'The URL that receives critical failures.'),
      secret: optionalKey(secretString(), 'The key that signs the request; use ${VAR}.'),
    }),
    'Notification of critical failures.',
  ),
  shared: nullableKey(
    urlWithScheme('redis', 'rediss'),
    'The Redis URL through which the nodes of a fleet share their state.',
  ),
  node: optionalKey(
    z.strictObject({
      id: optionalKey(
        shortWord(MAX_NODE_ID_LENGTH),
        'The id of this process in the fleet. Default: host name, process id and a random part.',
      ),
      heartbeat: optionalKey(positiveDuration(), 'The interval between heartbeats. Default 2 seconds.'),
    }),
    'This process in a fleet.',
  ),
}
