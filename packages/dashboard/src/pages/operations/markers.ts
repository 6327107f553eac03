import { HOUR_MS } from '@holdfast/records/constants'
import { getJson } from '../../api/client.js'
import type { WireAudit, WireBreakerChange, WirePage } from '../../api/types.js'
import { urlFor } from '../../route.js'
import type { TimeSpan } from './steps.js'

/** An event that can explain a change of the chart. */
export interface Marker {
  readonly at: number
  readonly kind: 'config' | 'breaker'
  readonly text: string
  readonly href: string
}

/** The most markers of a chart: the newest ones. */
const MAX_MARKERS = 40

/** The longest time range for which changes of breakers are listed, in hours. */
const MAX_HOURS = 168

const isConfigChange = ({ action }: WireAudit): boolean =>
  /^(policy|config|member)\./.test(action) && action !== 'config.reject'

/** Loads changes of the configuration and openings of breakers in a time range, oldest first. */
export async function loadMarkers(
  { from, to }: TimeSpan,
  now: number,
  signal: AbortSignal,
): Promise<Marker[]> {
  const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString(), limit: '200' }
  const hours = String(Math.min(MAX_HOURS, Math.max(1, Math.ceil((now - from) / HOUR_MS))))
  const [audit, breakers] = await Promise.all([
    getJson<WirePage<WireAudit>>('/audit', range, signal),
    getJson<{ events: WireBreakerChange[] }>('/circuit-breakers/metrics', { hours, limit: '200' }, signal),
  ])
  const changes = audit.items.filter(isConfigChange).map(
    ({ timestamp, action, target, actor }): Marker => ({
      at: Date.parse(timestamp),
      kind: 'config',
      text: `${action} ${target} by ${actor}`,
      href: urlFor('/audit', { target }),
    }),
  )
  const openings = breakers.events
    .filter(({ from_state, to_state }) => from_state === 'closed' && to_state === 'open')
    .map(
      ({ timestamp, id }): Marker => ({
        at: Date.parse(timestamp),
        kind: 'breaker',
        text: `${id} opened`,
        href: urlFor('/breakers', { id }),
      }),
    )
    .filter(({ at }) => at >= from && at < to)
  return [...changes, ...openings].toSorted((a, b) => a.at - b.at).slice(-MAX_MARKERS)
}
