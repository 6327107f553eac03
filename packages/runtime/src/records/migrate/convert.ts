import { tidySeconds } from '../../codec/leaf.js'
import { EVENT_TYPES } from '../session.js'
import { errorKind } from './error-kind.js'
import { isBag, type Reader } from './reader.js'

type Bag = Record<string, unknown>

const word = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

const number = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

/** Seconds between two times; undefined where either is none, or the second comes first. */
function between(from: unknown, to: unknown): number | undefined {
  const ms = Date.parse(String(to)) - Date.parse(String(from))
  return ms >= 0 ? tidySeconds(ms / 1000) : undefined
}

/** Old words for what happened. */
const OLD_TYPES: Record<string, string> = {
  circuit_opened: 'circuit_breaker_opened',
  circuit_breaker_open: 'circuit_breaker_opened',
  circuit_closed: 'circuit_breaker_closed',
  circuit_breaker_close: 'circuit_breaker_closed',
  circuit_half_opened: 'circuit_breaker_half_opened',
  circuit_breaker_half_open: 'circuit_breaker_half_opened',
}

const COMPONENTS = ['retry_manager', 'circuit_breaker', 'dead_letters', 'config', 'pool']

/** An attempt. `place` is where it lies, from 1; `shift` is 1 where they were counted from 0. */
function attempt(reader: Reader, place: number, shift: number): Bag {
  const count = reader.take('attempt_number', 'number') ?? place - shift
  const said = reader.error('error_message')
  const error = reader.error('error') ?? said
  const told = reader.take('outcome')
  const outcome = typeof told === 'string' ? told.toLowerCase() : undefined
  const success = reader.take('success') ?? (outcome === undefined ? undefined : outcome === 'success')
  const slow = isBag(error) && /time_?d?_?out|deadline/i.test(String(error.type))
  reader.take('request_id')
  return reader.with({
    schema: reader.take('schema'),
    attempt_number: typeof count === 'number' ? count + shift : count,
    timestamp: reader.instant('timestamp'),
    delay: reader.seconds('delay', 'delay_before') ?? 0,
    success,
    outcome: outcome ?? (success ? 'success' : slow ? 'timeout' : 'failure'),
    duration: reader.seconds('duration', 'latency'),
    status_code: reader.take('status_code', 'http_status'),
    proxy_id: reader.take('proxy_id', 'member_id'),
    error,
    context: reader.take('context'),
  })
}

/** Whether an attempt is written in the words of requests through proxies, which were counted from 0. */
const isOfProxy = (raw: Bag) =>
  ['delay_before', 'delayBefore', 'latency'].some((field) => Object.hasOwn(raw, field))

/** So many attempts of a session are kept, however many there were. */
const MOST_KEPT = 1000

/** What in a session contradicts itself: a sentence each. */
export function contradictionsIn(session: Bag): string[] {
  const { attempts, success, end_time: end, total_attempts: total, retry_count: retries } = session
  const read: unknown[] = Array.isArray(attempts) ? attempts : []
  const count = read.length
  if (count === 0) return ['attempts: got none, takes at least one']
  const problems: string[] = []
  if (success === true && read.every((one) => isBag(one) && one.success === false))
    problems.push('success: got true, but no attempt succeeded')
  // One that runs counts the attempt that runs, and one with very many keeps some of them.
  const more = (count === MOST_KEPT && number(total) > count) || (!end && total === count + 1)
  if (total !== count && !more)
    problems.push(`total_attempts: got ${word(total)}, but there are ${count} attempts`)
  else if (retries !== number(total) - 1)
    problems.push(
      `retry_count: got ${word(retries)}, takes ${number(total) - 1}, one less than total_attempts`,
    )
  return problems
}

export function session(reader: Reader): Bag {
  const given = reader.take('attempts')
  const raws: unknown[] = Array.isArray(given) ? given : []
  const fromZero = raws.some(
    (raw) => isBag(raw) && isOfProxy(raw) && (raw.attempt_number ?? raw.attemptNumber) === 0,
  )
  const attempts = raws.map((raw, i) =>
    isBag(raw) ? attempt(reader.inside(raw), i + 1, fromZero ? 1 : 0) : raw,
  )
  const read = attempts.filter(isBag)
  const [start, end] = [reader.instant('start_time'), reader.instant('end_time')]
  // How long an attempt took that does not say so is told by what came after it, or by nothing.
  for (const [i, { timestamp, duration }] of read.entries()) {
    const next = read[i + 1]
    const lasted = between(timestamp, next?.timestamp ?? end)
    if (duration !== undefined || lasted === undefined) continue
    const told = tidySeconds(lasted - number(next?.delay))
    if (told >= 0) Object.assign(read[i] ?? {}, { duration: told })
  }
  const id = reader.take('session_id', 'request_id', 'id')
  const policy = reader.take('policy_id')
  const success = reader.take('success') ?? read.at(-1)?.success
  const summed = read.reduce((sum, { delay, duration }) => sum + number(delay) + number(duration), 0)
  const duration = reader.seconds('total_duration')
  const [told, retried] = [reader.take('total_attempts'), reader.take('retry_count')]
  const total = typeof told === 'number' ? told : attempts.length
  return reader.with({
    schema: reader.schema(),
    session_id: id,
    policy_id: policy,
    policy_ids: reader.take('policy_ids') ?? [policy],
    operation: reader.take('operation', 'operation_type', 'operation_name'),
    subsystem: reader.take('subsystem'),
    correlation_id: reader.take('correlation_id') ?? `corr_${String(id)}`,
    start_time: start,
    end_time: end,
    attempts,
    final_result: reader.take('final_result', 'result'),
    final_error: reader.error('final_error'),
    success,
    // Why a failed one ended was not written down, and is not made up.
    stopped: reader.take('stopped') ?? (success === true ? 'succeeded' : undefined),
    context: reader.take('context'),
    total_attempts: total,
    total_duration: duration ?? between(start, end) ?? tidySeconds(summed),
    retry_count: typeof retried === 'number' ? retried : Math.max(0, total - 1),
    next_retry_time: reader.instant('next_retry_time'),
  })
}

export function event(reader: Reader): Bag {
  const told = reader.take('event_type', 'type')
  const type = typeof told === 'string' ? told.toLowerCase() : told
  const component = reader.take('component')
  const known = reader.isOwn || COMPONENTS.includes(String(component))
  const context = reader.take('context')
  const session = reader.take('session_id')
  const id = reader.take('event_id', 'id')
  return reader.with({
    schema: reader.schema(),
    event_id: id,
    event_type: (EVENT_TYPES as readonly unknown[]).includes(type) ? type : (OLD_TYPES[String(type)] ?? type),
    timestamp: reader.instant('timestamp'),
    correlation_id: reader.take('correlation_id') ?? `corr_${String(session ?? id)}`,
    session_id: session,
    policy_id: reader.take('policy_id'),
    operation: reader.take('operation'),
    attempt: reader.take('attempt', 'attempt_number'),
    max_attempts: reader.take('max_attempts'),
    delay: reader.seconds('delay', 'delay_before'),
    error: reader.error('error', 'error_message'),
    component: known ? (component ?? 'retry_manager') : 'retry_manager',
    // A component that nobody has any more is kept among the facts.
    context: known || component === undefined ? context : { ...(isBag(context) ? context : {}), component },
  })
}

/** A window of metrics. Of what version 1.0 did not know yet the kinds of failures are none, and quantiles are left out. */
export function metrics(reader: Reader): Bag {
  const parts = (given: unknown) =>
    isBag(given)
      ? Object.fromEntries(
          Object.entries(given).map(([name, part]) => {
            if (!isBag(part)) return [name, part]
            const inner = reader.inside(part)
            return [
              name,
              inner.with({
                sessions: inner.take('sessions', 'total_sessions'),
                success_rate: inner.take('success_rate'),
                average_attempts: inner.take('average_attempts'),
              }),
            ]
          }),
        )
      : (given ?? {})
  const sessions = reader.take('total_sessions')
  const successes = reader.take('successful_sessions')
  const attempts = reader.take('total_attempts')
  const duration = reader.seconds('total_duration') ?? 0
  const per = (amount: unknown) => (number(sessions) > 0 ? tidySeconds(number(amount) / number(sessions)) : 0)
  const latency = reader.take('latency')
  return reader.with({
    time_window_start: reader.instant('time_window_start'),
    time_window_end: reader.instant('time_window_end'),
    total_sessions: sessions,
    successful_sessions: successes,
    failed_sessions: reader.take('failed_sessions') ?? number(sessions) - number(successes),
    total_attempts: attempts,
    average_attempts_per_session: reader.take('average_attempts_per_session') ?? per(attempts),
    max_attempts_in_session: reader.take('max_attempts_in_session') ?? 0,
    total_duration: duration,
    average_duration_per_session: reader.seconds('average_duration_per_session') ?? per(duration),
    by_policy: parts(reader.take('by_policy')),
    by_subsystem: parts(reader.take('by_subsystem')),
    failure_by_reason: reader.take('failure_by_reason') ?? {},
    latency: isBag(latency) ? quantiles(reader.inside(latency)) : latency,
  })
}

const quantiles = (reader: Reader): Bag =>
  reader.with({ p50: reader.seconds('p50'), p95: reader.seconds('p95'), p99: reader.seconds('p99') })

export function breaker(reader: Reader): Bag {
  const [policy, service, proxy] = [
    reader.take('policy_id'),
    reader.take('service_name'),
    reader.take('proxy_id'),
  ]
  const named = policy ?? service ?? proxy
  const kind = policy !== undefined ? 'policy' : service !== undefined ? 'service' : 'pool:default'
  const state = reader.take('state')
  const [changed, failed, opened] = [
    reader.instant('last_state_change'),
    reader.instant('last_failure_time'),
    reader.instant('open_timestamp'),
  ]
  const span = reader.seconds('window_duration')
  const id =
    reader.take('id') ?? (named === undefined ? undefined : `${kind}:${encodeURIComponent(word(named))}`)
  return reader.with({
    schema: reader.schema(),
    id,
    proxy_id: typeof id === 'string' && id.startsWith('pool:') ? (proxy ?? null) : null,
    policy_id: policy,
    service_name: service,
    state: typeof state === 'string' ? state.toLowerCase() : state,
    failure_count: reader.take('failure_count') ?? 0,
    success_count: reader.take('success_count') ?? 0,
    failure_threshold: reader.take('failure_threshold', 'threshold'),
    success_threshold: reader.take('success_threshold') ?? 1,
    window_type: reader.take('window_type') ?? (span === undefined ? 'consecutive' : 'rolling'),
    window_duration: span,
    timeout_duration: reader.seconds('timeout_duration', 'timeout'),
    next_test_time: reader.instant('next_test_time'),
    last_failure_time: failed,
    open_timestamp: opened,
    last_state_change: changed ?? opened ?? failed,
  })
}

export function deadLetter(reader: Reader): Bag {
  const id = reader.take('dlq_id')
  const details = reader.take('error_details')
  const inner = reader.inside(isBag(details) ? details : {})
  const [created, attempted] = [reader.instant('created_at'), reader.instant('last_attempt')]
  const status = reader.take('status')
  return reader.with({
    schema: reader.schema(),
    dlq_id: id,
    item_id: reader.take('item_id', 'email_id'),
    operation_type: reader.take('operation_type', 'operation'),
    status,
    original_payload: reader.take('original_payload', 'payload'),
    error_details: inner.with({
      error_type: inner.take('error_type', 'type') ?? 'Error',
      error_message: inner.take('error_message', 'message') ?? '',
      stack_trace: inner.take('stack_trace'),
      retry_count: inner.take('retry_count') ?? 0,
    }),
    created_at: created,
    last_attempt: attempted ?? created,
    replayed_at: reader.instant('replayed_at'),
    processed: reader.take('processed') ?? status === 'completed',
    idempotency_key: reader.take('idempotency_key') ?? id,
    policy_id: reader.take('policy_id') ?? 'default',
    session_id: reader.take('session_id'),
    correlation_id: reader.take('correlation_id'),
    leased_until: reader.instant('leased_until'),
    replay_requested_at: reader.instant('replay_requested_at'),
  })
}

export function errorRecord(reader: Reader): Bag {
  const [severity, category] = [reader.take('severity'), reader.take('category')]
  const [type, status] = [reader.take('error_type'), reader.take('http_status')]
  return reader.with({
    schema: reader.schema(),
    timestamp: reader.instant('timestamp'),
    severity: typeof severity === 'string' ? severity.toUpperCase() : severity,
    category: typeof category === 'string' ? category.toUpperCase() : category,
    message: reader.take('message'),
    error_type: type,
    stack_trace: reader.take('stack_trace'),
    context: reader.take('context'),
    http_status: status,
    retry_count: reader.take('retry_count') ?? 0,
    kind: reader.take('kind') ?? errorKind(type, status),
    session_id: reader.take('session_id'),
  })
}
