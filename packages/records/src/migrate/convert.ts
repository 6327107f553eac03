import { tidySeconds } from '../codec/record-fields.js'
import { DEFAULT_POLICY_ID, EVENT_COMPONENTS } from '../constants.js'
import { EVENT_TYPES } from '../event-types.js'
import { parseErrorKind } from './error-kind.js'
import { isOldRecord, type OldRecord, type OldRecordReader } from './reader.js'

/** The text of a value from JSON. `String` would call the method `toString` of an object, which can be any value there. */
const asString = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')

const asNumber = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

/** Seconds between two times; undefined if one is not valid, or the second is before the first. */
function secondsBetween(from: unknown, to: unknown): number | undefined {
  const ms = Date.parse(asString(to)) - Date.parse(asString(from))
  return ms >= 0 ? tidySeconds(ms / 1000) : undefined
}

/** Earlier names of event types. */
const EVENT_TYPE_ALIASES: ReadonlyMap<unknown, string> = new Map([
  ['circuit_opened', 'circuit_breaker_opened'],
  ['circuit_breaker_open', 'circuit_breaker_opened'],
  ['circuit_closed', 'circuit_breaker_closed'],
  ['circuit_breaker_close', 'circuit_breaker_closed'],
  ['circuit_half_opened', 'circuit_breaker_half_opened'],
  ['circuit_breaker_half_open', 'circuit_breaker_half_opened'],
])

/** Converts an attempt. `position` is its place in the list, from 1; `shift` is 1 if attempts were counted from 0. */
function convertAttempt(reader: OldRecordReader, position: number, shift: number): OldRecord {
  const count = reader.readField('attempt_number', 'number') ?? position - shift
  const errorMessage = reader.readError('error_message')
  const error = reader.readError('error') ?? errorMessage
  const givenOutcome = reader.readField('outcome')
  const outcome = typeof givenOutcome === 'string' ? givenOutcome.toLowerCase() : undefined
  const success = reader.readField('success') ?? (outcome === undefined ? undefined : outcome === 'success')
  const isTimeout = isOldRecord(error) && /time_?d?_?out|deadline/i.test(asString(error.type))
  reader.readField('request_id')
  return reader.withRemaining({
    schema: reader.readField('schema'),
    attempt_number: typeof count === 'number' ? count + shift : count,
    timestamp: reader.readTimestamp('timestamp'),
    delay: reader.readSeconds('delay', 'delay_before') ?? 0,
    success,
    outcome: outcome ?? (success ? 'success' : isTimeout ? 'timeout' : 'failure'),
    duration: reader.readSeconds('duration', 'latency'),
    status_code: reader.readField('status_code', 'http_status'),
    proxy_id: reader.readField('proxy_id', 'member_id'),
    error,
    context: reader.readField('context'),
  })
}

/** Whether an attempt has the fields of proxy requests, which were counted from 0. */
const isProxyAttempt = (raw: OldRecord) =>
  ['delay_before', 'delayBefore', 'latency'].some((field) => Object.hasOwn(raw, field))

/** A session keeps at most this many attempts. */
const MAX_ATTEMPTS = 1000

/** The contradictions in a session, one sentence each. */
export function findContradictions(session: OldRecord): string[] {
  const { attempts, success, end_time: end, total_attempts: total, retry_count: retries } = session
  const read: unknown[] = Array.isArray(attempts) ? attempts : []
  const count = read.length
  if (count === 0) return ['attempts: expected at least one, got none']
  const problems: string[] = []
  if (success === true && read.every((one) => isOldRecord(one) && one.success === false))
    problems.push('success: expected false, because no attempt succeeded, got true')
  // An active session counts the running attempt, and a session with very many attempts keeps only some of them.
  const hasMore = (count === MAX_ATTEMPTS && asNumber(total) > count) || (!end && total === count + 1)
  if (total !== count && !hasMore)
    problems.push(`total_attempts: expected ${count}, the number of attempts, got ${asString(total)}`)
  else if (retries !== asNumber(total) - 1)
    problems.push(
      `retry_count: expected ${asNumber(total) - 1}, one less than total_attempts, got ${asString(retries)}`,
    )
  return problems
}

export function convertSession(reader: OldRecordReader): OldRecord {
  const rawAttempts = reader.readField('attempts')
  const rawList: unknown[] = Array.isArray(rawAttempts) ? rawAttempts : []
  const isZeroBased = rawList.some(
    (raw) => isOldRecord(raw) && isProxyAttempt(raw) && (raw.attempt_number ?? raw.attemptNumber) === 0,
  )
  const attempts = rawList.map((raw, i) =>
    isOldRecord(raw) ? convertAttempt(reader.readNested(raw), i + 1, isZeroBased ? 1 : 0) : raw,
  )
  const read = attempts.filter(isOldRecord)
  const [start, end] = [reader.readTimestamp('start_time'), reader.readTimestamp('end_time')]
  // A missing duration of an attempt is computed from the start and delay of the next one, or from the end of the session.
  for (const [i, { timestamp, duration }] of read.entries()) {
    const next = read[i + 1]
    const untilNext = secondsBetween(timestamp, next?.timestamp ?? end)
    if (duration !== undefined || untilNext === undefined) continue
    const computed = tidySeconds(untilNext - asNumber(next?.delay))
    if (computed >= 0) Object.assign(read[i] ?? {}, { duration: computed })
  }
  const id = reader.readField('session_id', 'request_id', 'id')
  const policy = reader.readField('policy_id')
  const success = reader.readField('success') ?? read.at(-1)?.success
  const summed = read.reduce((sum, { delay, duration }) => sum + asNumber(delay) + asNumber(duration), 0)
  const duration = reader.readSeconds('total_duration')
  const [givenTotal, givenRetries] = [reader.readField('total_attempts'), reader.readField('retry_count')]
  const total = typeof givenTotal === 'number' ? givenTotal : attempts.length
  return reader.withRemaining({
    schema: reader.schema(),
    session_id: id,
    policy_id: policy,
    policy_ids: reader.readField('policy_ids') ?? [policy],
    operation: reader.readField('operation', 'operation_type', 'operation_name'),
    subsystem: reader.readField('subsystem'),
    correlation_id: reader.readField('correlation_id') ?? `corr_${asString(id)}`,
    start_time: start,
    end_time: end,
    attempts,
    final_result: reader.readField('final_result', 'result'),
    final_error: reader.readError('final_error'),
    success,
    // Old records do not contain the reason why a failed session ended.
    stopped: reader.readField('stopped') ?? (success === true ? 'succeeded' : undefined),
    context: reader.readField('context'),
    total_attempts: total,
    total_duration: duration ?? secondsBetween(start, end) ?? tidySeconds(summed),
    retry_count: typeof givenRetries === 'number' ? givenRetries : Math.max(0, total - 1),
    next_retry_time: reader.readTimestamp('next_retry_time'),
  })
}

export function convertEvent(reader: OldRecordReader): OldRecord {
  const givenType = reader.readField('event_type', 'type')
  const type = typeof givenType === 'string' ? givenType.toLowerCase() : givenType
  const component = reader.readField('component')
  const isKnown =
    reader.isOwn || EVENT_COMPONENTS.includes(asString(component) as (typeof EVENT_COMPONENTS)[number])
  const context = reader.readField('context')
  const session = reader.readField('session_id')
  const id = reader.readField('event_id', 'id')
  return reader.withRemaining({
    schema: reader.schema(),
    event_id: id,
    event_type: (EVENT_TYPES as readonly unknown[]).includes(type)
      ? type
      : (EVENT_TYPE_ALIASES.get(type) ?? type),
    timestamp: reader.readTimestamp('timestamp'),
    correlation_id: reader.readField('correlation_id') ?? `corr_${asString(session ?? id)}`,
    session_id: session,
    policy_id: reader.readField('policy_id'),
    operation: reader.readField('operation'),
    attempt: reader.readField('attempt', 'attempt_number'),
    max_attempts: reader.readField('max_attempts'),
    delay: reader.readSeconds('delay', 'delay_before'),
    error: reader.readError('error', 'error_message'),
    component: isKnown ? (component ?? 'retry_manager') : 'retry_manager',
    // A component that does not exist any more is kept in the context.
    context:
      isKnown || component === undefined ? context : { ...(isOldRecord(context) ? context : {}), component },
  })
}

/** Converts a window of metrics. Version 1.0 had no kinds of failures, which are empty then, and no quantiles, which are left out. */
export function convertMetrics(reader: OldRecordReader): OldRecord {
  const parts = (input: unknown) =>
    isOldRecord(input)
      ? Object.fromEntries(
          Object.entries(input).map(([name, part]) => {
            if (!isOldRecord(part)) return [name, part]
            const inner = reader.readNested(part)
            return [
              name,
              inner.withRemaining({
                sessions: inner.readField('sessions', 'total_sessions'),
                success_rate: inner.readField('success_rate'),
                average_attempts: inner.readField('average_attempts'),
              }),
            ]
          }),
        )
      : (input ?? {})
  const sessions = reader.readField('total_sessions')
  const successes = reader.readField('successful_sessions')
  const attempts = reader.readField('total_attempts')
  const duration = reader.readSeconds('total_duration') ?? 0
  const per = (amount: unknown) =>
    asNumber(sessions) > 0 ? tidySeconds(asNumber(amount) / asNumber(sessions)) : 0
  const latency = reader.readField('latency')
  return reader.withRemaining({
    time_window_start: reader.readTimestamp('time_window_start'),
    time_window_end: reader.readTimestamp('time_window_end'),
    total_sessions: sessions,
    successful_sessions: successes,
    failed_sessions: reader.readField('failed_sessions') ?? asNumber(sessions) - asNumber(successes),
    total_attempts: attempts,
    average_attempts_per_session: reader.readField('average_attempts_per_session') ?? per(attempts),
    max_attempts_in_session: reader.readField('max_attempts_in_session') ?? 0,
    total_duration: duration,
    average_duration_per_session: reader.readSeconds('average_duration_per_session') ?? per(duration),
    by_policy: parts(reader.readField('by_policy')),
    by_subsystem: parts(reader.readField('by_subsystem')),
    failure_by_reason: reader.readField('failure_by_reason') ?? {},
    latency: isOldRecord(latency) ? convertQuantiles(reader.readNested(latency)) : latency,
  })
}

const convertQuantiles = (reader: OldRecordReader): OldRecord =>
  reader.withRemaining({
    p50: reader.readSeconds('p50'),
    p95: reader.readSeconds('p95'),
    p99: reader.readSeconds('p99'),
  })

export function convertBreaker(reader: OldRecordReader): OldRecord {
  const [policy, service, proxy] = [
    reader.readField('policy_id'),
    reader.readField('service_name'),
    reader.readField('proxy_id'),
  ]
  const ownerName = policy ?? service ?? proxy
  const kind = policy !== undefined ? 'policy' : service !== undefined ? 'service' : 'pool:default'
  const state = reader.readField('state')
  const [changed, failed, opened] = [
    reader.readTimestamp('last_state_change'),
    reader.readTimestamp('last_failure_time'),
    reader.readTimestamp('open_timestamp'),
  ]
  const span = reader.readSeconds('window_duration')
  const id =
    reader.readField('id') ??
    (ownerName === undefined
      ? undefined
      : `${kind}:${encodeURIComponent(asString(ownerName).replace(/\p{Surrogate}/gu, '\ufffd'))}`)
  return reader.withRemaining({
    schema: reader.schema(),
    id,
    proxy_id: typeof id === 'string' && id.startsWith('pool:') ? (proxy ?? null) : null,
    policy_id: policy,
    service_name: service,
    state: typeof state === 'string' ? state.toLowerCase() : state,
    failure_count: reader.readField('failure_count') ?? 0,
    success_count: reader.readField('success_count') ?? 0,
    failure_threshold: reader.readField('failure_threshold', 'threshold'),
    success_threshold: reader.readField('success_threshold') ?? 1,
    window_type: reader.readField('window_type') ?? (span === undefined ? 'consecutive' : 'rolling'),
    window_duration: span,
    timeout_duration: reader.readSeconds('timeout_duration', 'timeout'),
    next_test_time: reader.readTimestamp('next_test_time'),
    last_failure_time: failed,
    open_timestamp: opened,
    last_state_change: changed ?? opened ?? failed,
  })
}

/** Converts a dead letter of an earlier system to the wire format. */
export function convertDeadLetter(reader: OldRecordReader): OldRecord {
  const id = reader.readField('dlq_id')
  const details = reader.readField('error_details')
  const inner = reader.readNested(isOldRecord(details) ? details : {})
  const [created, attempted] = [reader.readTimestamp('created_at'), reader.readTimestamp('last_attempt')]
  const status = reader.readField('status')
  return reader.withRemaining({
    schema: reader.schema(),
    dlq_id: id,
    item_id: reader.readField('item_id', 'email_id'),
    operation_type: reader.readField('operation_type', 'operation'),
    status,
    original_payload: reader.readField('original_payload', 'payload'),
    error_details: inner.withRemaining({
      error_type: inner.readField('error_type', 'type') ?? 'Error',
      error_message: inner.readField('error_message', 'message') ?? '',
      stack_trace: inner.readField('stack_trace'),
      retry_count: inner.readField('retry_count') ?? 0,
    }),
    created_at: created,
    last_attempt: attempted ?? created,
    replayed_at: reader.readTimestamp('replayed_at'),
    processed: reader.readField('processed') ?? status === 'completed',
    idempotency_key: reader.readField('idempotency_key') ?? id,
    policy_id: reader.readField('policy_id') ?? DEFAULT_POLICY_ID,
    session_id: reader.readField('session_id'),
    correlation_id: reader.readField('correlation_id'),
    leased_until: reader.readTimestamp('leased_until'),
    replay_requested_at: reader.readTimestamp('replay_requested_at'),
  })
}

export function convertErrorRecord(reader: OldRecordReader): OldRecord {
  const [severity, category] = [reader.readField('severity'), reader.readField('category')]
  const [type, status] = [reader.readField('error_type'), reader.readField('http_status')]
  return reader.withRemaining({
    schema: reader.schema(),
    timestamp: reader.readTimestamp('timestamp'),
    severity: typeof severity === 'string' ? severity.toUpperCase() : severity,
    category: typeof category === 'string' ? category.toUpperCase() : category,
    message: reader.readField('message'),
    error_type: type,
    stack_trace: reader.readField('stack_trace'),
    context: reader.readField('context'),
    http_status: status,
    retry_count: reader.readField('retry_count') ?? 0,
    kind: reader.readField('kind') ?? parseErrorKind(type, status),
    session_id: reader.readField('session_id'),
  })
}
