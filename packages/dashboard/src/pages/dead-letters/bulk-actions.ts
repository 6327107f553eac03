import { signal } from '@preact/signals'
import { ApiClientError, callApi, fetchPages, getJson, sendRequest } from '../../api/client.js'
import type { WireDeadLetter, WireJob } from '../../api/types.js'
import { clock, page } from '../../browser.js'
import type { WorkProgress } from '../../components/progress.js'
import type { UrlQuery } from '../../route.js'

/** The running bulk action. It continues while the user visits other pages. */
export const bulkWork = signal<WorkProgress | undefined>(undefined)

let stopController = new AbortController()

export const stopBulkWork = (): void => stopController.abort()

const waitMs = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimer(resolve, ms))

/** Runs an action for each id in sequence and reports its progress. */
async function forEachId(
  title: string,
  ids: readonly string[],
  action: (id: string) => Promise<boolean>,
): Promise<void> {
  stopController = new AbortController()
  const { signal: stop } = stopController
  let [done, failed] = [0, 0]
  let note: string | undefined
  const report = (isEnded: boolean): void => {
    bulkWork.value = { title, done, failed, total: ids.length, isEnded, note }
  }
  report(false)
  for (const id of ids) {
    if (stop.aborted) break
    try {
      if (!(await action(id))) failed++
    } catch (error) {
      failed++
      note = (error as Error).message
      if (error instanceof ApiClientError && [0, 401, 403].includes(error.status)) break
    }
    done++
    report(false)
  }
  report(true)
}

const deadLetterPath = (id: string): string => `/dead-letters/${encodeURIComponent(id)}`

/** Replays the selected dead letters. One that fails again stays with the status failed. */
export const replaySelected = (ids: readonly string[], reason: string): Promise<void> =>
  forEachId('Replaying', ids, async (id) => {
    const { status } = await callApi<WireDeadLetter>('POST', `${deadLetterPath(id)}/replay`, { reason })
    return status !== 'failed'
  })

/** Deletes the selected dead letters. */
export const purgeSelected = (ids: readonly string[], reason: string): Promise<void> =>
  forEachId('Deleting', ids, async (id) => {
    await callApi('DELETE', deadLetterPath(id), { reason })
    return true
  })

/** Replays all pending dead letters as a job of the server. */
export async function replayAll(
  selection: { operation?: string | undefined; retryFailed: boolean },
  reason: string,
): Promise<void> {
  const body = {
    ...(selection.operation && { operation: selection.operation }),
    retry_failed: selection.retryFailed,
  }
  stopController = new AbortController()
  const { signal: stop } = stopController
  let job = await callApi<WireJob>('POST', '/dead-letters/replay', { body, reason })
  const report = (): void => {
    const { succeeded, failed, skipped, total, status, message } = job
    const done = succeeded + failed + skipped
    const isEnded = status !== 'running'
    const skippedNote =
      skipped > 0
        ? `${skipped} skipped: this process has no handler, another process replays them.`
        : undefined
    bulkWork.value = {
      title: 'Replaying',
      done,
      failed,
      total: isEnded ? done : (total ?? undefined),
      isEnded,
      note: message ?? skippedNote,
    }
  }
  report()
  let isCancelled = false
  while (job.status === 'running') {
    if (stop.aborted && !isCancelled) {
      isCancelled = true
      await callApi('POST', `/jobs/${job.job_id}/cancel`)
    }
    await waitMs(300)
    try {
      job = await getJson<WireJob>(`/jobs/${job.job_id}`)
    } catch (error) {
      // The job continues while the connection is lost.
      if (!(error instanceof ApiClientError) || error.status !== 0) throw error
    }
    report()
  }
}

/** The ids of all dead letters that match a filter. */
export async function fetchIds(query: UrlQuery): Promise<string[]> {
  const ids: string[] = []
  for await (const entries of fetchPages<WireDeadLetter>('/dead-letters', query))
    ids.push(...entries.map(({ dlq_id }) => dlq_id))
  return ids
}

/** Downloads all dead letters that match a filter as JSON lines. */
export async function exportMatching(query: UrlQuery): Promise<number> {
  const lines: string[] = []
  for await (const entries of fetchPages<WireDeadLetter>('/dead-letters', query))
    lines.push(...entries.map((entry) => `${JSON.stringify(entry)}\n`))
  const link = page.createElement('a')
  link.href = URL.createObjectURL(new Blob(lines, { type: 'application/jsonl' }))
  link.download = 'dead-letters.jsonl'
  link.click()
  URL.revokeObjectURL(link.href)
  return lines.length
}

/** Loads one dead letter with all its details. */
export const fetchDeadLetter = (id: string, stop: AbortSignal): Promise<WireDeadLetter> =>
  sendRequest('GET', deadLetterPath(id), { signal: stop }).then(
    (response) => response.json() as Promise<WireDeadLetter>,
  )
