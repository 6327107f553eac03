import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { getJson } from '../api/client.js'
import type { WireBreaker, WireErrorRecord, WirePage } from '../api/types.js'
import { useQuery } from '../api/use-query.js'
import { clock, page } from '../browser.js'
import { Time } from '../components/time.js'
import { useEvents } from '../events/event-stream.js'
import { formatName, formatPlural } from '../format.js'
import { now } from '../now.js'
import { urlFor } from '../route.js'
import { FIRING_MS, type FiringAlert, groupAlerts } from './alert-groups.js'

/** The maximum number of errors and breakers of one response. */
const MAX_ERRORS = '200'
const MAX_BREAKERS = '1000'

const REFRESH_MS = 30_000

/** The alerts that fire and the number of open breakers. */
export interface Problems {
  readonly alerts: readonly FiringAlert[]
  readonly openBreakers: number
}

/** Loads the problems, follows them, and marks the icon of the browser tab while there is one. */
export function useProblems(): Problems {
  const errors = useQuery(
    'critical errors',
    (signal) => {
      const from = new Date(clock.wall() - FIRING_MS).toISOString()
      const query = { severity: 'CRITICAL', from, limit: MAX_ERRORS }
      return getJson<WirePage<WireErrorRecord>>('/errors', query, signal)
    },
    REFRESH_MS,
  )
  const breakers = useQuery(
    'open breakers',
    (signal) =>
      getJson<{ circuit_breakers: WireBreaker[] }>(
        '/circuit-breakers',
        { state: 'open', limit: MAX_BREAKERS },
        signal,
      ),
    REFRESH_MS,
  )
  useEvents((events) => {
    if (events.some(({ event_type }) => event_type === 'alert')) errors.reload()
    if (events.some(({ event_type }) => event_type.startsWith('circuit_breaker_'))) breakers.reload()
  })
  const alerts = groupAlerts(errors.data?.items ?? [], now.value)
  const openBreakers = breakers.data?.circuit_breakers.length ?? 0
  const hasProblem = alerts.length > 0 || openBreakers > 0
  useEffect(() => {
    const icon = page.querySelector('link[rel="icon"]')
    icon?.setAttribute('href', hasProblem ? '/icon-alert.svg' : '/icon.svg')
  }, [hasProblem])
  return { alerts, openBreakers }
}

/** The alerts that fire, above every page. A dismissed alert is shown again when it is raised again. */
export function AlertBanner({ alerts }: { alerts: readonly FiringAlert[] }) {
  const dismissed = useSignal<ReadonlyMap<string, number>>(new Map())
  const shown = alerts.filter(({ key, last }) => last > (dismissed.value.get(key) ?? 0))
  return (
    <div class="line alerts" role="status" aria-label="Alerts">
      {shown.map((alert) => (
        <p key={alert.key}>
          <strong>Alert</strong>{' '}
          <a
            href={
              alert.sessionId === undefined
                ? urlFor('/errors', { severity: 'CRITICAL', operation: alert.operation })
                : urlFor('/sessions', { id: alert.sessionId })
            }
          >
            {alert.operation}
          </a>
          : {formatName(alert.kind)}, {alert.message}. {formatPlural(alert.count, 'time', 'times')}, last{' '}
          <Time at={alert.last} />{' '}
          <button
            type="button"
            class="link"
            aria-label={`Dismiss the alert of ${alert.operation}`}
            onClick={() => {
              dismissed.value = new Map([...dismissed.peek(), [alert.key, alert.last]])
            }}
          >
            Dismiss
          </button>
        </p>
      ))}
    </div>
  )
}
