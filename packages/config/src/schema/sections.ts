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
  failure_threshold: optionalKey(positiveInteger(), 'How many failures in the window open it. Default 5.'),
  success_threshold: optionalKey(positiveInteger(), 'How many successful tests close it. Default 1.'),
  window_type: optionalKey(
    oneOf('rolling', 'consecutive', 'rate'),
    'How it counts while closed. Default rolling.',
  ),
  window_duration: optionalKey(
    positiveDuration(),
    'How far back a rolling or rate window looks. Default 60 seconds.',
  ),
  timeout_duration: optionalKey(
    positiveDuration(),
    'How long it stays open before a call may test it. Default 30 seconds.',
  ),
  timeout_multiplier: optionalKey(
    atLeastOne(),
    'The factor by which the open time grows with each opening in a row. Default 1.',
  ),
  max_timeout_duration: optionalKey(positiveDuration(), 'The longest open time that growth may reach.'),
  failure_rate: optionalKey(
    positiveFraction(),
    'The share of failed calls that opens it; means window_type rate.',
  ),
  minimum_calls: optionalKey(
    positiveInteger(),
    'How many calls a rate window must hold before it is judged. Default 10.',
  ),
  slow_call_duration: optionalKey(
    positiveDuration(),
    'A call that takes at least this long is slow; goes with slow_call_rate.',
  ),
  slow_call_rate: optionalKey(
    positiveFraction(),
    'The share of slow calls that opens it; goes with slow_call_duration.',
  ),
  half_open_max: optionalKey(positiveInteger(), 'How many tests may be in flight at a time. Default 1.'),
  probe_lease: optionalKey(positiveDuration(), 'How long a test may hold its place.'),
  adaptive: optionalKey(
    booleanValue(),
    'Lowers the threshold of a target that has long been unreliable. Default false.',
  ),
  persist_state: optionalKey(booleanValue(), 'Keeps its state over a restart. Default false.'),
  share: optionalKey(
    oneOf('none', 'state', 'counts', 'quorum'),
    'What nodes of a fleet share of it. Default quorum where `shared` is set.',
  ),
  quorum: optionalKey(
    positiveFraction(),
    'The share of nodes that must agree for the fleet to open it. Default 0.5.',
  ),
})

/** Kinds of failure, each with the names and codes of its errors. */
export const errorKindsSchema = z.record(z.string(), listOf(matcherName()))

/** A member of a pool. */
export const memberSchema = z.strictObject({
  id: optionalKey(nonEmptyString(), 'What it is called. Host and port of its url where this is left out.'),
  url: requiredKey(
    urlWithScheme('http', 'https', 'socks5', 'socks5h'),
    'Where it is; may hold credentials. socks5:// and socks5h:// mean the same: the proxy resolves names.',
  ),
  weight: optionalKey(nonNegativeNumber(), 'How often it is chosen beside the others. Default 1.'),
  region: optionalKey(anyString(), 'Where it stands.'),
  cost: optionalKey(nonNegativeNumber(), 'What a call through it costs. Default 0.'),
  tags: optionalKey(listOf(anyString()), 'Words for choosing by.'),
  circuit_breaker: optionalKey(breakerEntrySchema.clone(), 'Settings of its own breaker.'),
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
    'How a member is chosen. Default round_robin.',
  ),
  policy: optionalKey(nonEmptyString(), 'The policy of calls through the pool.'),
  circuit_breaker: optionalKey(breakerEntrySchema.clone(), 'When a member is ejected, and for how long.'),
  members: optionalKey(listOf(memberSchema), 'Who is in it.'),
  members_file: optionalKey(
    nonEmptyString(),
    'A file with more members: lines, JSON or CSV. Relative to this file.',
  ),
  member_faults: optionalKey(
    listOf(httpStatus()),
    'Statuses that speak of the member and not of the request.',
  ),
  max_ejected: optionalKey(fraction(), 'The share of members that may be ejected at the same time.'),
  probe: optionalKey(
    z.strictObject({
      interval: optionalKey(positiveDuration(), 'How often ejected members are probed.'),
      url: optionalKey(urlWithScheme('http', 'https'), 'What is asked for.'),
    }),
    'Probes of ejected members.',
  ),
})

export const deadLettersSchema = z.strictObject({
  enabled: optionalKey(booleanValue(), 'Default true.'),
  operations: optionalKey(listOf(nonEmptyString()), 'The operations that may be kept. Left out: any.'),
  skip_kinds: optionalKey(listOf(nonEmptyString()), 'Kinds of failure that are not kept.'),
  handlers: optionalKey(nonEmptyString(), 'A module that exports a handler for each operation.'),
  max_entries: optionalKey(positiveInteger(), 'How many are kept at most. Default 100000.'),
  max_age: optionalKey(positiveDuration(), 'How long they are kept. Default 30 days.'),
  max_payload: optionalKey(positiveInteger(), 'The largest payload in bytes. Default 1048576.'),
  when_full: optionalKey(
    oneOf('report', 'refuse'),
    'What happens at the limit: report it, or refuse new calls with a payload. Default report.',
  ),
  encryption_key: optionalKey(
    secretStrings(),
    'Encrypts payloads, and the credentials of members added through the API: 32 bytes, base64 or hex; best as ${VAR}. Of a list, the newest first, all open and the first one seals.',
  ),
})

/** The retention of one kind of record in the store. */
const retention = (retentionSchema: { readonly maxAge: number; readonly maxEntries: number }, more = '') =>
  z.strictObject({
    max_age: optionalKey(
      positiveDuration(),
      `How long they are kept. Default ${retentionSchema.maxAge / DAY_MS} days${more}.`,
    ),
    max_entries: optionalKey(
      positiveInteger(),
      `How many are kept at most; the oldest are deleted first. Default ${retentionSchema.maxEntries}.`,
    ),
  })

export const sectionsShape = {
  error_log: optionalKey(
    z.strictObject({
      dir: optionalKey(nonEmptyString(), 'The folder of the files. Relative to this file.'),
      max_age: optionalKey(
        positiveDuration(),
        `How long files are kept, and the error records in the store where errors.max_age is left out. Default ${RETENTION.errors.maxAge / DAY_MS} days.`,
      ),
      max_size: optionalKey(
        positiveInteger(),
        'How many bytes one file may have before the next is begun. Default 10485760.',
      ),
    }),
    'Errors as JSON lines, a file for each severity and day.',
  ),
  sessions: optionalKey(retention(RETENTION.sessions), 'How long sessions are kept.'),
  events: optionalKey(retention(RETENTION.events), 'How long events are kept, and the changes of breakers.'),
  audit: optionalKey(retention(RETENTION.audit), 'How long audit records are kept.'),
  errors: optionalKey(
    retention(RETENTION.errors, ', or error_log.max_age where that is given'),
    'How long error records are kept in the store.',
  ),
  metrics: optionalKey(
    z.strictObject({
      retention_hours: optionalKey(nonNegativeNumber(), 'How many hours are kept in detail. Default 24.'),
      max_current_attempts: optionalKey(
        nonNegativeInteger(),
        'How many attempts of the current hour are kept one by one. Default 10000.',
      ),
    }),
    'What is counted.',
  ),
  server: optionalKey(
    z.strictObject({
      host: optionalKey(nonEmptyString(), 'The address it listens on. Default 127.0.0.1.'),
      port: optionalKey(portNumber(), 'The port it listens on. Default 8000.'),
      tls: optionalKey(
        z.strictObject({
          cert: optionalKey(nonEmptyString(), 'The file of the certificate.'),
          key: optionalKey(nonEmptyString(), 'The file of its key.'),
        }),
        'Serves HTTPS.',
      ),
      header_timeout: optionalKey(
        networkTimeout(),
        'How long a client may take to send the head of a request; request_timeout caps it. Default 10 seconds.',
      ),
      request_timeout: optionalKey(
        networkTimeout(),
        'How long a client may take to send a whole request, its body included. Default 60 seconds.',
      ),
      idle_timeout: optionalKey(
        networkTimeout(),
        'How long a connection without a request stays open. Default 60 seconds.',
      ),
      max_connections: optionalKey(
        positiveInteger(),
        'How many connections may be open; further ones are closed at once. Default 10000.',
      ),
    }),
    'The HTTP server.',
  ),
  proxy: optionalKey(
    z.strictObject({
      host: optionalKey(nonEmptyString(), 'The address it listens on. Default 127.0.0.1.'),
      port: optionalKey(portNumber(), 'The port it listens on. Default 8080.'),
      pool: optionalKey(nonEmptyString(), 'The pool that requests go through.'),
      users: optionalKey(
        listOf(
          z.strictObject({
            name: requiredKey(nonEmptyString(), 'What the user is called.'),
            password: requiredKey(secretString(), 'Best as ${VAR}.'),
          }),
        ),
        'The users of the proxy. Without it, every client that reaches the proxy can use it.',
      ),
      allow_private_targets: optionalKey(
        booleanValue(),
        'Whether private addresses may be asked for. Default false.',
      ),
      max_connections: optionalKey(positiveInteger(), 'How many connections may be open. Default 10000.'),
      idle_timeout: optionalKey(
        positiveDuration(),
        'How long a connection may be silent. Default 120 seconds.',
      ),
      connect_ports: optionalKey(
        listOf(targetPort()),
        'The ports that CONNECT may open tunnels to, such as [443]. Left out: any. Empty: none.',
      ),
      workers: optionalKey(
        countUpTo(MAX_PROXY_WORKERS),
        'How many processes serve requests; they share one port and their state. Default 1.',
      ),
      max_header_size: optionalKey(
        byteCount(512, 2 ** 20),
        'The most bytes in the head of a request or of an answer. Default 65536.',
      ),
    }),
    'The rotating forward proxy.',
  ),
  redact: optionalKey(
    z.strictObject({
      keys: optionalKey(listOf(nonEmptyString()), 'Keys whose values are never recorded.'),
      patterns: optionalKey(listOf(safePattern()), 'Regular expressions; what they match is never recorded.'),
    }),
    'What must not be recorded, besides what is known to be secret.',
  ),
  alerts: optionalKey(
    z.strictObject({
      webhook: optionalKey(urlWithScheme('http', 'https'), 'Where critical failures are sent.'),
      secret: optionalKey(secretString(), 'Signs what is sent; best as ${VAR}.'),
    }),
    'Where critical failures are reported.',
  ),
  shared: nullableKey(
    urlWithScheme('redis', 'rediss'),
    'The Redis through which a fleet shares what it knows.',
  ),
  node: optionalKey(
    z.strictObject({
      id: optionalKey(
        shortWord(MAX_NODE_ID_LENGTH),
        'What this process is called in the fleet. Default: host, process id and a random part.',
      ),
      heartbeat: optionalKey(positiveDuration(), 'How often it says that it lives. Default 2 seconds.'),
    }),
    'This process in a fleet.',
  ),
}
