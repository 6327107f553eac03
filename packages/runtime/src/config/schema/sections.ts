import { z } from 'zod'
import { RETENTION } from '../retention.js'
import {
  amount,
  byteCount,
  count,
  countUpTo,
  described,
  factor,
  flag,
  httpStatus,
  key,
  list,
  matcher,
  maybe,
  natural,
  networkTimeout,
  oneOf,
  pattern,
  port,
  rate,
  secret,
  secrets,
  share,
  shortWord,
  span,
  targetPort,
  text,
  url,
  word,
} from './leaf.js'

const DAY_MS = 86_400_000

/** More processes than this are a mistake rather than a large machine. */
const MAX_PROXY_WORKERS = 256

/** Other nodes ignore longer ones. */
const MAX_NODE_ID_LENGTH = 512

/** A breaker that calls share by name, and that of a pool's members. */
export const breakerEntrySchema = z.strictObject({
  failure_threshold: key(count(), 'How many failures in the window open it. Default 5.'),
  success_threshold: key(count(), 'How many successful tests close it. Default 1.'),
  window_type: key(oneOf('rolling', 'consecutive', 'rate'), 'How it counts while closed. Default rolling.'),
  window_duration: key(span(), 'How far back a rolling or rate window looks. Default 60 seconds.'),
  timeout_duration: key(span(), 'How long it stays open before a call may test it. Default 30 seconds.'),
  timeout_multiplier: key(
    factor(),
    'The factor by which the open time grows with each opening in a row. Default 1.',
  ),
  max_timeout_duration: key(span(), 'The longest open time that growth may reach.'),
  failure_rate: key(rate(), 'The share of failed calls that opens it; means window_type rate.'),
  minimum_calls: key(count(), 'How many calls a rate window must hold before it is judged. Default 10.'),
  slow_call_duration: key(span(), 'A call that takes at least this long is slow; goes with slow_call_rate.'),
  slow_call_rate: key(rate(), 'The share of slow calls that opens it; goes with slow_call_duration.'),
  half_open_max: key(count(), 'How many tests may be in flight at a time. Default 1.'),
  probe_lease: key(span(), 'How long a test may hold its place.'),
  adaptive: key(flag(), 'Lowers the threshold of a target that has long been unreliable. Default false.'),
  persist_state: key(flag(), 'Keeps its state over a restart. Default false.'),
  share: key(
    oneOf('none', 'state', 'counts', 'quorum'),
    'What nodes of a fleet share of it. Default quorum where `shared` is set.',
  ),
  quorum: key(rate(), 'The share of nodes that must agree for the fleet to open it. Default 0.5.'),
})

/** Kinds of failure, each with the names and codes that mean it. */
export const errorKindsSchema = z.record(z.string(), list(matcher()))

/** A member of a pool. */
export const memberSchema = z.strictObject({
  id: key(word(), 'What it is called. Host and port of its url where this is left out.'),
  url: described(
    url('http', 'https', 'socks5', 'socks5h'),
    'Where it is; may hold credentials. socks5:// and socks5h:// mean the same: the proxy resolves names.',
  ),
  weight: key(amount(), 'How often it is chosen beside the others. Default 1.'),
  region: key(text(), 'Where it stands.'),
  cost: key(amount(), 'What a call through it costs. Default 0.'),
  tags: key(list(text()), 'Words for choosing by.'),
  circuit_breaker: key(breakerEntrySchema.clone(), 'Settings of its own breaker.'),
})

export const poolSchema = z.strictObject({
  strategy: key(
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
  policy: key(word(), 'The policy of calls through the pool.'),
  circuit_breaker: key(breakerEntrySchema.clone(), 'When a member is set aside, and for how long.'),
  members: key(list(memberSchema), 'Who is in it.'),
  members_file: key(word(), 'A file with more members: lines, JSON or CSV. Relative to this file.'),
  member_faults: key(list(httpStatus()), 'Statuses that speak of the member and not of the request.'),
  max_ejected: key(share(), 'The share of members that may be set aside at once.'),
  probe: key(
    z.strictObject({
      interval: key(span(), 'How often members that are set aside are tested.'),
      url: key(url('http', 'https'), 'What is asked for.'),
    }),
    'Tests of members that are set aside.',
  ),
})

export const deadLettersSchema = z.strictObject({
  enabled: key(flag(), 'Default true.'),
  operations: key(list(word()), 'The operations that may be kept. Left out: any.'),
  skip_kinds: key(list(word()), 'Kinds of failure that are not kept.'),
  handlers: key(word(), 'A module that exports a handler for each operation.'),
  max_entries: key(count(), 'How many are kept at most. Default 100000.'),
  max_age: key(span(), 'How long they are kept. Default 30 days.'),
  max_payload: key(count(), 'The largest payload in bytes. Default 1048576.'),
  when_full: key(
    oneOf('report', 'refuse'),
    'What happens at the limit: report it, or refuse new calls with a payload. Default report.',
  ),
  encryption_key: key(
    secrets(),
    'Encrypts payloads, and the credentials of members added through the API: 32 bytes, base64 or hex; best as ${VAR}. Of a list, the newest first, all open and the first one seals.',
  ),
})

/** How long records of one kind are kept in the store. */
const retention = (kept: { readonly maxAge: number; readonly maxEntries: number }, more = '') =>
  z.strictObject({
    max_age: key(span(), `How long they are kept. Default ${kept.maxAge / DAY_MS} days${more}.`),
    max_entries: key(
      count(),
      `How many are kept at most; the oldest are deleted first. Default ${kept.maxEntries}.`,
    ),
  })

export const sectionsShape = {
  error_log: key(
    z.strictObject({
      dir: key(word(), 'The folder of the files. Relative to this file.'),
      max_age: key(
        span(),
        `How long files are kept, and the error records in the store where errors.max_age is left out. Default ${RETENTION.errors.maxAge / DAY_MS} days.`,
      ),
      max_size: key(count(), 'How many bytes one file may have before the next is begun. Default 10485760.'),
    }),
    'Errors as JSON lines, a file for each severity and day.',
  ),
  sessions: key(retention(RETENTION.sessions), 'How long sessions are kept.'),
  events: key(retention(RETENTION.events), 'How long events are kept, and the changes of breakers.'),
  audit: key(retention(RETENTION.audit), 'How long audit records are kept.'),
  errors: key(
    retention(RETENTION.errors, ', or error_log.max_age where that is given'),
    'How long error records are kept in the store.',
  ),
  metrics: key(
    z.strictObject({
      retention_hours: key(amount(), 'How many hours are kept in detail. Default 24.'),
      max_current_attempts: key(
        natural(),
        'How many attempts of the current hour are kept one by one. Default 10000.',
      ),
    }),
    'What is counted.',
  ),
  server: key(
    z.strictObject({
      host: key(word(), 'The address it listens on. Default 127.0.0.1.'),
      port: key(port(), 'The port it listens on. Default 8000.'),
      tls: key(
        z.strictObject({
          cert: key(word(), 'The file of the certificate.'),
          key: key(word(), 'The file of its key.'),
        }),
        'Serves HTTPS.',
      ),
      header_timeout: key(
        networkTimeout(),
        'How long a client may take to send the head of a request; request_timeout caps it. Default 10 seconds.',
      ),
      request_timeout: key(
        networkTimeout(),
        'How long a client may take to send a whole request, its body included. Default 60 seconds.',
      ),
      idle_timeout: key(
        networkTimeout(),
        'How long a connection without a request stays open. Default 60 seconds.',
      ),
      max_connections: key(
        count(),
        'How many connections may be open; further ones are closed at once. Default 10000.',
      ),
    }),
    'The HTTP server.',
  ),
  proxy: key(
    z.strictObject({
      host: key(word(), 'The address it listens on. Default 127.0.0.1.'),
      port: key(port(), 'The port it listens on. Default 8080.'),
      pool: key(word(), 'The pool that requests go through.'),
      users: key(
        list(
          z.strictObject({
            name: described(word(), 'What the user is called.'),
            password: described(secret(), 'Best as ${VAR}.'),
          }),
        ),
        'Who may use it. Left out: everybody who reaches it.',
      ),
      allow_private_targets: key(flag(), 'Whether private addresses may be asked for. Default false.'),
      max_connections: key(count(), 'How many connections may be open. Default 10000.'),
      idle_timeout: key(span(), 'How long a connection may be silent. Default 120 seconds.'),
      connect_ports: key(
        list(targetPort()),
        'The ports that CONNECT may open tunnels to, such as [443]. Left out: any. Empty: none.',
      ),
      workers: key(
        countUpTo(MAX_PROXY_WORKERS),
        'How many processes serve requests; they share one port and their state. Default 1.',
      ),
      max_header_size: key(
        byteCount(512, 2 ** 20),
        'The most bytes in the head of a request or of an answer. Default 65536.',
      ),
    }),
    'The rotating forward proxy.',
  ),
  redact: key(
    z.strictObject({
      keys: key(list(word()), 'Keys whose values are never recorded.'),
      patterns: key(list(pattern()), 'Regular expressions; what they match is never recorded.'),
    }),
    'What must not be recorded, besides what is known to be secret.',
  ),
  alerts: key(
    z.strictObject({
      webhook: key(url('http', 'https'), 'Where critical failures are sent.'),
      secret: key(secret(), 'Signs what is sent; best as ${VAR}.'),
    }),
    'Who is told of critical failures.',
  ),
  shared: maybe(url('redis', 'rediss'), 'The Redis through which a fleet shares what it knows.'),
  node: key(
    z.strictObject({
      id: key(
        shortWord(MAX_NODE_ID_LENGTH),
        'What this process is called in the fleet. Default: host, process id and a random part.',
      ),
      heartbeat: key(span(), 'How often it says that it lives. Default 2 seconds.'),
    }),
    'This process in a fleet.',
  ),
}
