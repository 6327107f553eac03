import type { Context } from '../context.js'
import { CommandFailure, EXIT } from '../exit.js'
import { printJson } from '../output/print.js'
import { progressBar } from '../output/progress.js'
import { shown } from '../output/text.js'
import { type Api, ask, because, withApi } from '../source/api.js'
import type { Entry } from './dead-letters.js'
import { pause, untilInterrupted } from './wait.js'

export interface ReplayOptions {
  operation?: string
  limit?: number
  concurrency?: number
  rate?: number
  retryFailed?: boolean
  reason?: string
}

interface Job {
  job_id: string
  status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  succeeded: number
  failed: number
  skipped: number
  total?: number
  message?: string
}

/** How often a job is looked at, in milliseconds. */
const LOOK = 200

/** `dead-letters replay [ID]`: one, or all that wait. */
export function replay(context: Context, id: string | undefined, options: ReplayOptions): Promise<number> {
  return withApi(context, { writes: true }, (api) =>
    id === undefined ? batch(context, api, options) : single(context, api, id, options),
  )
}

async function single(context: Context, api: Api, id: string, { reason }: ReplayOptions): Promise<number> {
  const { io, shared } = context
  const path = `/dead-letters/${encodeURIComponent(id)}/replay`
  const entry = await ask<Entry>(api, 'POST', path, because(reason))
  if (shared.json) printJson(context, entry)
  else if (entry.status === 'completed') io.out(`${entry.dlq_id} completed\n`)
  else if (entry.status === 'pending')
    io.out(
      `${entry.dlq_id} noted: there is no handler for ${shown(entry.operation_type)} here, a worker elsewhere takes it up\n`,
    )
  else {
    const { error_type, error_message } = entry.error_details.history?.at(-1) ?? entry.error_details
    io.out(`${entry.dlq_id} ${entry.status}: ${shown(`${error_type}: ${error_message}`)}\n`)
  }
  return entry.status === 'failed' ? EXIT.failure : EXIT.ok
}

interface Stats {
  by_status: { failed: number }
  by_operation: Record<string, { failed: number }>
}

/** Says how entries are replayed whose replay failed before: a batch takes pending ones alone. */
async function hintFailed({ io }: Context, api: Api, operation: string | undefined): Promise<void> {
  const { by_status, by_operation } = await ask<Stats>(api, 'GET', '/dead-letters/stats')
  const counts =
    operation === undefined ? by_status : Object.hasOwn(by_operation, operation) && by_operation[operation]
  const failed = counts ? counts.failed : 0
  if (failed > 0)
    io.err(
      `nothing is pending; ${failed} failed before and ${failed === 1 ? 'is' : 'are'} replayed with --retry-failed\n`,
    )
}

/** Follows a job to its end. Ctrl-C ends it after what is under way, and what is left stays for the next time. */
async function batch(context: Context, api: Api, options: ReplayOptions): Promise<number> {
  const { io, shared } = context
  const { operation, limit, concurrency, rate, retryFailed, reason } = options
  const bar = progressBar(io)
  const begin = { operation, limit, concurrency, rate, retry_failed: retryFailed }
  let job = await ask<Job>(api, 'POST', '/dead-letters/replay', { body: begin, ...because(reason) })
  const path = `/jobs/${encodeURIComponent(job.job_id)}`
  const follow = async (signal?: AbortSignal): Promise<void> => {
    while (job.status === 'running' && !signal?.aborted) {
      await pause(io, LOOK, signal)
      job = await ask<Job>(api, 'GET', path)
      bar.show({ done: job.succeeded + job.failed, failed: job.failed, total: job.total })
    }
  }
  const interrupted = await untilInterrupted(io, follow)
  if (interrupted) {
    await ask(api, 'POST', `${path}/cancel`)
    await follow()
  }
  bar.end()
  const { succeeded, failed, skipped } = job
  if (shared.json) printJson(context, { succeeded, failed, skipped, interrupted })
  else io.out(`${succeeded} replayed, ${failed} failed, ${skipped} left\n`)
  if (interrupted) {
    io.err('interrupted: nothing is lost; the same command goes on with what is left\n')
    return EXIT.interrupted
  }
  if (job.status === 'failed') throw new CommandFailure(EXIT.failure, job.message ?? 'the replay failed')
  if (!retryFailed && !shared.json && succeeded + failed + skipped === 0)
    await hintFailed(context, api, operation)
  if (skipped > 0 && !shared.json)
    io.err(
      'left: their handler is in another process, which takes them up, or the breaker opened; look at holdfast breakers\n',
    )
  return failed > 0 ? EXIT.failure : EXIT.ok
}
