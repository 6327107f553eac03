import { signal } from '@preact/signals'
import { ApiError, call, get, pages, request } from '../../api/call.js'
import type { DeadLetter, Job } from '../../api/types.js'
import { clock, page } from '../../page.js'
import type { Work } from '../../parts/progress.js'
import type { Query } from '../../route.js'

/** What is being done to dead letters. It goes on while the reader looks at other views. */
export const work = signal<Work | undefined>(undefined)

let stopping = new AbortController()

export const stopWork = (): void => stopping.abort()

const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimer(resolve, ms))

/** Does the same to one after the other, and counts. */
async function each(
  title: string,
  ids: readonly string[],
  one: (id: string) => Promise<boolean>,
): Promise<void> {
  stopping = new AbortController()
  const { signal: stop } = stopping
  let [done, failed] = [0, 0]
  let note: string | undefined
  const tell = (ended: boolean): void => {
    work.value = { title, done, failed, total: ids.length, ended, note }
  }
  tell(false)
  for (const id of ids) {
    if (stop.aborted) break
    try {
      if (!(await one(id))) failed++
    } catch (error) {
      failed++
      note = (error as Error).message
      if (error instanceof ApiError && [0, 401, 403].includes(error.status)) break
    }
    done++
    tell(false)
  }
  tell(true)
}

const at = (id: string): string => `/dead-letters/${encodeURIComponent(id)}`

/** Replays those that were chosen. One that fails again stays, as failed. */
export const replaySome = (ids: readonly string[], reason: string): Promise<void> =>
  each('Replaying', ids, async (id) => {
    const { status } = await call<DeadLetter>('POST', `${at(id)}/replay`, { reason })
    return status !== 'failed'
  })

/** Deletes those that were chosen, for good. */
export const purgeSome = (ids: readonly string[], reason: string): Promise<void> =>
  each('Deleting', ids, async (id) => {
    await call('DELETE', at(id), { reason })
    return true
  })

/** Replays all that wait, as a job of the server's. */
export async function replayAll(
  choice: { operation?: string | undefined; retryFailed: boolean },
  reason: string,
): Promise<void> {
  const body = { ...(choice.operation && { operation: choice.operation }), retry_failed: choice.retryFailed }
  stopping = new AbortController()
  const { signal: stop } = stopping
  let job = await call<Job>('POST', '/dead-letters/replay', { body, reason })
  const tell = (): void => {
    const { succeeded, failed, skipped, total, status, message } = job
    const done = succeeded + failed + skipped
    const ended = status !== 'running'
    const left =
      skipped > 0 ? `${skipped} have no handler in this process, and are left to one that has.` : undefined
    work.value = {
      title: 'Replaying',
      done,
      failed,
      total: ended ? done : (total ?? undefined),
      ended,
      note: message ?? left,
    }
  }
  tell()
  let cancelled = false
  while (job.status === 'running') {
    if (stop.aborted && !cancelled) {
      cancelled = true
      await call('POST', `/jobs/${job.job_id}/cancel`)
    }
    await pause(300)
    try {
      job = await get<Job>(`/jobs/${job.job_id}`)
    } catch (error) {
      // A connection that is lost for a while does not end the job.
      if (!(error instanceof ApiError) || error.status !== 0) throw error
    }
    tell()
  }
}

/** Every id that a filter finds. */
export async function idsOf(query: Query): Promise<string[]> {
  const ids: string[] = []
  for await (const some of pages<DeadLetter>('/dead-letters', query))
    ids.push(...some.map(({ dlq_id }) => dlq_id))
  return ids
}

/** Hands the reader a file of all that a filter finds: one entry a line. */
export async function exportAll(query: Query): Promise<number> {
  const lines: string[] = []
  for await (const some of pages<DeadLetter>('/dead-letters', query))
    lines.push(...some.map((entry) => `${JSON.stringify(entry)}\n`))
  const link = page.createElement('a')
  link.href = URL.createObjectURL(new Blob(lines, { type: 'application/jsonl' }))
  link.download = 'dead-letters.jsonl'
  link.click()
  URL.revokeObjectURL(link.href)
  return lines.length
}

/** The entry with everything that is known of it. */
export const one = (id: string, stop: AbortSignal): Promise<DeadLetter> =>
  request('GET', at(id), { signal: stop }).then((answer) => answer.json() as Promise<DeadLetter>)
