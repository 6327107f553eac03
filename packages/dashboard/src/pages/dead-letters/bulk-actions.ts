import { signal } from '@preact/signals'
import { callApi, fetchPages, getJson, sendRequest } from '../../api/client.js'
import { ApiClientError } from '../../api/error-response.js'
import type { WireCount, WireDeadLetter, WireJob } from '../../api/types.js'
import { clock } from '../../browser.js'
import { downloadFile } from '../../components/csv.js'
import type { WireDeadLetterFilter } from './filter.js'

/** The entries of a bulk action: those that match a filter, or those that the user selected. */
export interface BulkTarget {
  /** The filter of the list, for links to the results. */
  readonly filter: WireDeadLetterFilter
  readonly ids?: readonly string[] | undefined
}

/** A bulk action, running or ended. */
export interface BulkWork {
  readonly kind: 'replay' | 'delete'
  readonly target: BulkTarget
  readonly total: number
  readonly succeeded: number
  readonly failed: number
  readonly skipped: number
  readonly skips: WireJob['skips']
  readonly isEnded: boolean
  /** Why the action ended early. */
  readonly message?: string | undefined
}

/** The last bulk action. It continues while the user visits other pages. */
export const bulkWork = signal<BulkWork | undefined>(undefined)

let stopController = new AbortController()

export const stopBulkWork = (): void => stopController.abort()

/** The maximum number of ids of one request. */
const MAX_IDS = 1000

const POLL_INTERVAL_MS = 300

const waitMs = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimer(resolve, ms))

const deadLetterPath = (id: string): string => `/dead-letters/${encodeURIComponent(id)}`

/** How many of the counted dead letters can be replayed. */
export const replayableCount = ({ by_status }: WireCount): number => by_status.pending + by_status.failed

export const fetchCount = (filter: WireDeadLetterFilter, stop?: AbortSignal): Promise<WireCount> =>
  getJson<WireCount>('/dead-letters/count', filter, stop)

/**
 * The filter for exactly the dead letters that were counted: later ones are excluded. The time is that of the server, and the
 * end of a range is exclusive.
 */
export function pinFilter(filter: WireDeadLetterFilter, { counted_at }: WireCount): WireDeadLetterFilter {
  const end = Date.parse(counted_at) + 1
  const to = filter.to === undefined ? end : Math.min(Date.parse(filter.to), end)
  return { ...filter, to: new Date(to).toISOString() }
}

/** The bodies of the requests for a target. */
function* requestBodies({ filter, ids }: BulkTarget): Generator<object> {
  if (ids === undefined) yield filter
  else
    for (let start = 0; start < ids.length; start += MAX_IDS) yield { ids: ids.slice(start, start + MAX_IDS) }
}

/** Adds up the results of requests. */
const addWork = (work: BulkWork, done: Partial<BulkWork>): BulkWork => ({
  ...work,
  succeeded: work.succeeded + (done.succeeded ?? 0),
  failed: work.failed + (done.failed ?? 0),
  skipped: work.skipped + (done.skipped ?? 0),
  skips: [...work.skips, ...(done.skips ?? [])],
})

/** Runs a bulk action request by request and shows its progress. */
async function runBulk(
  kind: BulkWork['kind'],
  target: BulkTarget,
  total: number,
  send: (
    body: object,
    stop: AbortSignal,
    report: (done: Partial<BulkWork>) => void,
  ) => Promise<Partial<BulkWork>>,
): Promise<void> {
  stopController = new AbortController()
  const { signal: stop } = stopController
  const none = { succeeded: 0, failed: 0, skipped: 0, skips: [], isEnded: false }
  let work: BulkWork = { kind, target, total, ...none }
  bulkWork.value = work
  try {
    for (const body of requestBodies(target)) {
      if (stop.aborted) break
      const before = work
      const done = await send(body, stop, (part) => {
        bulkWork.value = addWork(before, part)
      })
      work = { ...addWork(work, done), ...(done.message === undefined ? {} : { message: done.message }) }
      bulkWork.value = work
    }
    bulkWork.value = { ...work, isEnded: true }
  } catch (error) {
    bulkWork.value = { ...work, isEnded: true, message: (error as Error).message }
  }
}

/** Replays dead letters as a job of the server. */
export const replayTarget = (
  target: BulkTarget,
  total: number,
  { reason, waitForBreaker }: { reason: string; waitForBreaker: boolean },
): Promise<void> =>
  runBulk('replay', target, total, async (selection, stop, report) => {
    const body = { ...selection, wait_for_breaker: waitForBreaker }
    let job = await callApi<WireJob>('POST', '/dead-letters/replay', { body, reason })
    let isCancelled = false
    while (job.status === 'running') {
      if (stop.aborted && !isCancelled) {
        isCancelled = true
        await callApi('POST', `/jobs/${job.job_id}/cancel`)
      }
      await waitMs(POLL_INTERVAL_MS)
      try {
        job = await getJson<WireJob>(`/jobs/${job.job_id}`)
      } catch (error) {
        // The job continues while the connection is lost.
        if (!(error instanceof ApiClientError) || error.status !== 0) throw error
      }
      report(job as Partial<BulkWork>)
    }
    const { succeeded, failed, skipped, skips, message } = job
    return { succeeded, failed, skipped, skips, message: message ?? undefined }
  })

/** Deletes dead letters. */
export const purgeTarget = (target: BulkTarget, total: number, reason: string): Promise<void> =>
  runBulk('delete', target, total, async (selection) => {
    const { purged, skipped } = await callApi<{ purged: number; skipped: number }>(
      'POST',
      '/dead-letters/purge',
      {
        body: Object.values(selection).every((value) => value === undefined) ? { all: true } : selection,
        reason,
      },
    )
    return { succeeded: purged, skipped }
  })

/** Replays one dead letter and waits for its result. */
export const replayOne = (
  id: string,
  { reason, waitForBreaker }: { reason: string; waitForBreaker: boolean },
): Promise<WireDeadLetter> =>
  callApi('POST', `${deadLetterPath(id)}/replay`, { body: { wait_for_breaker: waitForBreaker }, reason })

/** Deletes one dead letter. */
export const purgeOne = (id: string, reason: string): Promise<void> =>
  callApi('DELETE', deadLetterPath(id), { reason })

/** Replaces the payload that replays use. */
export const editPayload = (id: string, payload: unknown, reason: string): Promise<WireDeadLetter> =>
  callApi('PUT', `${deadLetterPath(id)}/payload`, { body: { payload }, reason })

/** Downloads all dead letters that match a filter as JSON lines. */
export async function exportMatching(filter: WireDeadLetterFilter): Promise<number> {
  const parts: Blob[] = []
  let size = 0
  for await (const entries of fetchPages<WireDeadLetter>('/dead-letters', { ...filter, limit: '200' })) {
    parts.push(new Blob(entries.map((entry) => `${JSON.stringify(entry)}\n`)))
    size += entries.length
    // The page stays responsive during a long export.
    await waitMs(0)
  }
  downloadFile('dead-letters.jsonl', 'application/jsonl', new Blob(parts))
  return size
}

/** Loads one dead letter with all its details. */
export const fetchDeadLetter = (id: string, stop: AbortSignal): Promise<WireDeadLetter> =>
  sendRequest('GET', deadLetterPath(id), { signal: stop }).then(
    (response) => response.json() as Promise<WireDeadLetter>,
  )
