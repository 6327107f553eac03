import { z } from 'zod'
import { CONFIG_DEFAULTS } from '../defaults.js'
import {
  absentKey,
  booleanValue,
  byteCount,
  countUpTo,
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
  positiveInteger,
  requiredKey,
  safePattern,
  secretString,
  secretStrings,
  shortWord,
  targetPort,
  urlWithScheme,
  webhookUrl,
} from './fields.js'

const { deadLetters, errorLog, metrics, server, proxy, node } = CONFIG_DEFAULTS

/** A larger number of processes is probably a mistake. */
const MAX_PROXY_WORKERS = 256

/** The maximum length of a node id. Other nodes ignore longer ids. */
const MAX_NODE_ID_LENGTH = 512

/** Kinds of failure, each with the names and codes of its errors. */
export const errorKindsSchema = z.record(z.string(), listOf(matcherName()))

export const deadLettersSchema = z.strictObject({
  enabled: optionalKey(booleanValue(), 'Stores dead letters.', deadLetters.enabled),
  operations: absentKey(listOf(nonEmptyString()), 'The operations whose failed calls are stored.', 'all'),
  skip_kinds: absentKey(listOf(nonEmptyString()), 'Kinds of failure that are not stored.', 'none'),
  handlers: absentKey(
    nonEmptyString(),
    'A module whose exports are the handlers of operations: functions, or an object of them as default export. The path is relative to the config file.',
    'none',
  ),
  max_entries: optionalKey(
    positiveInteger(),
    'The maximum number of stored entries that are not completed.',
    deadLetters.maxEntries,
  ),
  max_age: optionalKey(positiveDuration(), 'How long entries are stored.', deadLetters.maxAge),
  max_payload: optionalKey(
    positiveInteger(),
    'The maximum size of a payload in bytes.',
    deadLetters.maxPayload,
  ),
  when_full: optionalKey(
    oneOf('report', 'refuse'),
    'What happens when max_entries is reached: report it, or reject new calls with a payload.',
    deadLetters.whenFull,
  ),
  encryption_key: absentKey(
    secretStrings(),
    'Encrypts payloads and the credentials of members added through the API: 32 bytes in base64 or hex; use ${VAR}. In a list, the first key encrypts and all keys decrypt; put the newest first.',
    'none, payloads are not encrypted',
  ),
})

/** The retention of one kind of record in the store. */
const retention = ({ maxAge, maxEntries }: { maxAge: number; maxEntries: number }, alternative = '') =>
  z.strictObject({
    max_age: optionalKey(positiveDuration(), `How long records are stored.${alternative}`, maxAge),
    max_entries: optionalKey(
      positiveInteger(),
      'The maximum number of stored records; the oldest are deleted first.',
      maxEntries,
    ),
  })

export const sectionsShape = {
  error_log: optionalKey(
    z.strictObject({
      dir: absentKey(
        nonEmptyString(),
        'The folder of the log files. The path is relative to the config file.',
        'none, no log files are written',
      ),
      max_age: optionalKey(
        positiveDuration(),
        'How long log files are kept; also the default of errors.max_age.',
        errorLog.maxAge,
      ),
      max_size: optionalKey(
        positiveInteger(),
        'The maximum size of a log file in bytes; then a new file is started.',
        errorLog.maxSize,
      ),
    }),
    'Writes errors as JSON lines, one file per severity and day.',
  ),
  sessions: optionalKey(retention(CONFIG_DEFAULTS.sessions), 'Retention of sessions.'),
  events: optionalKey(retention(CONFIG_DEFAULTS.events), 'Retention of events and of breaker state changes.'),
  audit: optionalKey(retention(CONFIG_DEFAULTS.audit), 'Retention of audit records.'),
  errors: optionalKey(
    retention(CONFIG_DEFAULTS.errors, ' If error_log.max_age is set, that is the default.'),
    'Retention of error records in the store.',
  ),
  metrics: optionalKey(
    z.strictObject({
      retention_hours: optionalKey(
        nonNegativeNumber(),
        'The number of hours for which detailed metrics are kept.',
        metrics.retentionHours,
      ),
      max_current_attempts: optionalKey(
        nonNegativeInteger(),
        'The maximum number of individual attempts kept for the current hour.',
        metrics.maxCurrentAttempts,
      ),
    }),
    'Retention of metrics.',
  ),
  server: optionalKey(
    z.strictObject({
      host: optionalKey(nonEmptyString(), 'The address it listens on.', server.host),
      port: optionalKey(portNumber(), 'The port it listens on.', server.port),
      tls: optionalKey(
        z.strictObject({
          cert: absentKey(
            nonEmptyString(),
            'The certificate file in PEM. HTTPS requires it. The path is relative to the working directory.',
            'none',
          ),
          key: absentKey(
            nonEmptyString(),
            'The file of the private key in PEM. HTTPS requires it. The path is relative to the working directory.',
            'none',
          ),
        }),
        'The files for HTTPS. Without them the server speaks HTTP.',
      ),
      header_timeout: optionalKey(
        networkTimeout(),
        'How long a client may take to send the headers of a request; at most request_timeout.',
        server.headerTimeout,
      ),
      request_timeout: optionalKey(
        networkTimeout(),
        'How long a client may take to send a whole request, including its body.',
        server.requestTimeout,
      ),
      idle_timeout: optionalKey(
        networkTimeout(),
        'How long a connection without a request stays open.',
        server.idleTimeout,
      ),
      max_connections: optionalKey(
        positiveInteger(),
        'The maximum number of open connections; further connections are closed immediately.',
        server.maxConnections,
      ),
    }),
    'The HTTP server.',
  ),
  proxy: optionalKey(
    z.strictObject({
      host: optionalKey(nonEmptyString(), 'The address it listens on.', proxy.host),
      port: optionalKey(portNumber(), 'The port it listens on.', proxy.port),
      pool: absentKey(
        nonEmptyString(),
        'The pool through which requests are sent.',
        'none, the proxy connects to targets directly',
      ),
      users: absentKey(
        listOf(
          z.strictObject({
            name: requiredKey(nonEmptyString(), 'The name of the user.'),
            password: requiredKey(secretString(), 'The password of the user; use ${VAR}.'),
          }),
        ),
        'The users of the proxy. A proxy without users starts only on a loopback address, and every client that can connect to it can use it.',
        'none',
      ),
      allow_private_targets: optionalKey(
        booleanValue(),
        'Whether clients may connect to private addresses.',
        proxy.allowPrivateTargets,
      ),
      max_connections: optionalKey(
        positiveInteger(),
        'The maximum number of open connections.',
        proxy.maxConnections,
      ),
      idle_timeout: optionalKey(
        positiveDuration(),
        'How long a connection without traffic stays open.',
        proxy.idleTimeout,
      ),
      connect_ports: absentKey(
        listOf(targetPort()),
        'The ports to which CONNECT may open tunnels, such as [443]. An empty list: none.',
        'all',
      ),
      workers: optionalKey(
        countUpTo(MAX_PROXY_WORKERS),
        'The number of processes that serve requests. They share one port and their state.',
        proxy.workers,
      ),
      max_header_size: optionalKey(
        byteCount(512, 2 ** 20),
        'The maximum size of the headers of a request or response in bytes.',
        proxy.maxHeaderSize,
      ),
    }),
    'The rotating forward proxy.',
  ),
  redact: optionalKey(
    z.strictObject({
      keys: absentKey(listOf(nonEmptyString()), 'Keys whose values are never recorded.', 'none'),
      patterns: absentKey(
        listOf(safePattern()),
        'Regular expressions. Text that matches one is never recorded.',
        'none',
      ),
    }),
    'Values that are removed from all records, in addition to the values that are always removed.',
  ),
  alerts: optionalKey(
    z.strictObject({
      webhook: absentKey(
        webhookUrl(),
        'The URL to which critical failures are sent.',
        'none, nothing is sent',
      ),
      secret: absentKey(
        secretString(),
        'The key that signs the request; use ${VAR}.',
        'none, requests are not signed',
      ),
    }),
    'Notification of critical failures.',
  ),
  shared: nullableKey(
    urlWithScheme('redis', 'rediss'),
    'The Redis URL through which the nodes of a fleet share their state.',
    'none, nothing is shared',
  ),
  node: optionalKey(
    z.strictObject({
      id: absentKey(
        shortWord(MAX_NODE_ID_LENGTH),
        'The id of this process in the fleet.',
        'host name, process id and a random part',
      ),
      heartbeat: optionalKey(positiveDuration(), 'The interval between heartbeats.', node.heartbeat),
    }),
    'This process in a fleet.',
  ),
}
