import { signal } from '@preact/signals'
import { ApiClientError, callApi, fetchPages, getJson, sendRequest } from '../../api/client.js'
import type { WireDeadLetter, WireJob } from '../../api/types.js'
import { clock, page } from '../../browser.js'
import type { WorkProgress } from '../../components/progress.js'
import type { UrlQuery } from '../../route.js'

/** What is being done to dead letters. It goes on while the reader looks at other views. */
export const bulkWork = signal<WorkProgress | undefined>(undefined)

let stopController = new AbortController()

export const stopBulkWork = (): void => stopController.abort()

const waitMs = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimer(resolve, ms))

/** Does the same to one after the other, and counts. */
async function forEachId(
  title: string,
  ids: readonly string[],
  one: (id: string) => Promise<boolean>,
): Promise<void> {
  stopController = new AbortController()
  const { signal: stop } = stopController
  let [done, failed] = [0, 0]
  let note: string | undefined
  const tell = (isEnded: boolean): void => {
    bulkWork.value = { title, done, failed, total: ids.length, isEnded, note }
  }
  tell(false)
  for (const id of ids) {
    if (stop.aborted) break
    try {
      if (!(await one(id))) failed++
    } catch (error) {
      failed++
      note = (error as Error).message
      if (error instanceof ApiClientError && [0, 401, 403].includes(error.status)) break
    }
    done++
    tell(false)
  }
  tell(true)
}

const deadLetterPath = (id: string): string => `/dead-letters/${encodeURIComponent(id)}`

/** Replays those that were chosen. One that fails again stays, as failed. */
export const replaySelected = (ids: readonly string[], reason: string): Promise<void> =>
  forEachId('Replaying', ids, async (id) => {
    const { status } = await callApi<WireDeadLetter>('POST', `${deadLetterPath(id)}/replay`, { reason })
    return status !== 'failed'
  })

/** Deletes those that were chosen, for good. */
export const purgeSelected = (ids: readonly string[], reason: string): Promise<void> =>
  forEachId('Deleting', ids, async (id) => {
    await callApi('DELETE', deadLetterPath(id), { reason })
    return true
  })

/** Replays all that wait, as a job of the server's. */
export async function replayAll(
  choice: { operation?: string | undefined; retryFailed: boolean },
  reason: string,
): Promise<void> {
  const body = { ...(choice.operation && { operation: choice.operation }), retry_failed: choice.retryFailed }
  stopController = new AbortController()
  const { signal: stop } = stopController
  let job = await callApi<WireJob>('POST', '/dead-letters/replay', { body, reason })
  const tell = (): void => {
    const { succeeded, failed, skipped, total, status, message } = job
    const done = succeeded + failed + skipped
    const isEnded = status !== 'running'
    const left =
      skipped > 0 ? `${skipped} have no handler in this process, and are left to one that has.` : undefined
    bulkWork.value = {
      title: 'Replaying',
      done,
      failed,
      total: isEnded ? done : (total ?? undefined),
      isEnded,
      note: message ?? left,
    }
  }
  tell()
  let cancelled = false
  while (job.status === 'running') {
    if (stop.aborted && !cancelled) {
      cancelled = true
      await callApi('POST', `/jobs/${job.job_id}/cancel`)
    }
    await waitMs(300)
    try {
      job = await getJson<WireJob>(`/jobs/${job.job_id}`)
    } catch (error) {
      // A connection that is lost for a while does not end the job.
      if (!(error instanceof ApiClientError) || error.status !== 0) throw error
    }
    tell()
  }
}

/** Every id that a filter finds. */
export async function fetchIds(query: UrlQuery): Promise<string[]> {
  const ids: string[] = []
  for await (const some of fetchPages<WireDeadLetter>('/dead-letters', query))
    ids.push(...some.map(({ dlq_id }) => dlq_id))
  return ids
}

/** Hands the reader a file of all that a filter finds: one entry a line. */
export async function exportMatching(query: UrlQuery): Promise<number> {
  const lines: string[] = []
  for await (const some of fetchPages<WireDeadLetter>('/dead-letters', query))
    lines.push(...some.map((entry) => `${JSON.stringify(entry)}\n`))
  const link = page.createElement('a')
  link.href = URL.createObjectURL(new Blob(lines, { type: 'application/jsonl' }))
  link.download = 'dead-letters.jsonl'
  link.click()
  URL.revokeObjectURL(link.href)
  return lines.length
}

/** The entry with everything that is known of it. */
export const fetchDeadLetter = (id: string, stop: AbortSignal): Promise<WireDeadLetter> =>
  sendRequest('GET', deadLetterPath(id), { signal: stop }).then(
    (answer) => answer.json() as Promise<WireDeadLetter>,
  )
