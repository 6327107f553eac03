import type { WireEvent } from '../../api/types.js'
import { Time } from '../../components/basics.js'
import { formatDuration, formatInline, formatName } from '../../format.js'
import { urlFor } from '../../route.js'

const TONES: Record<string, string> = {
  retry_attempt: 'warn',
  retry_success: 'good',
  retry_failure: 'bad',
  circuit_breaker_opened: 'bad',
  circuit_breaker_closed: 'good',
  circuit_breaker_half_opened: 'warn',
  dead_letter_enqueued: 'bad',
  dead_letter_replayed: 'good',
  dead_letter_failed: 'bad',
  config_rejected: 'bad',
  alert: 'bad',
  storage_warning: 'bad',
  events_dropped: 'bad',
}

/** The page with more details about an event. */
function linkOf({ event_type, session_id, context }: WireEvent): string | undefined {
  if (event_type.startsWith('circuit_breaker_'))
    return urlFor('/breakers', { id: formatInline(context?.['id']) })
  if (event_type.startsWith('dead_letter_') && typeof context?.['dlq_id'] === 'string')
    return urlFor('/dead-letters', { id: context['dlq_id'] })
  if (event_type.startsWith('config_')) return '/settings'
  return session_id == null ? undefined : urlFor('/sessions', { id: session_id })
}

function detailOf({ event_type, attempt, max_attempts, delay, error, context }: WireEvent): string {
  if (event_type === 'retry_attempt')
    return `attempt ${attempt} of ${max_attempts ?? '?'} ${delay ? `in ${formatDuration(delay)}` : 'immediately'}${error ? `: ${error.message}` : ''}`
  if (event_type.startsWith('circuit_breaker_'))
    return `was ${formatName(formatInline(context?.['fromState']))}, ${formatInline(context?.['failureCount'])} failures`
  if (error != null) return `${error.type}: ${error.message}`
  const fields = Object.entries(context ?? {}).filter(([key]) => !['id', 'dlq_id'].includes(key))
  return fields.map(([key, value]) => `${formatName(key)} ${formatInline(value)}`).join(', ')
}

/** One event of the live feed. */
export function EventLine({ event }: { event: WireEvent }) {
  const link = linkOf(event)
  const subject = event.operation ?? (event.context?.['id'] as string | undefined) ?? event.component
  return (
    <li class={TONES[event.event_type] ?? 'plain'}>
      <Time at={event.timestamp} short />
      <strong>{formatName(event.event_type)}</strong>
      {link === undefined ? <span>{formatName(subject)}</span> : <a href={link}>{subject}</a>}
      <span class="detail">{detailOf(event)}</span>
    </li>
  )
}
