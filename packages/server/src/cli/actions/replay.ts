import { type ApiBackend, reasonHeader, requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { printJson } from '../output/print.js'
import { createProgressBar } from '../output/progress.js'
import { formatInline } from '../output/text.js'
import type { WireDeadLetter } from './dead-letters.js'
import { runUntilInterrupted, waitOrAbort } from './wait.js'

export interface ReplayOptions {
  operation?: string
  limit?: number
  concurrency?: number
  rate?: number
  retryFailed?: boolean
  reason?: string
}

interface WireJob {
  job_id: string
  status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  succeeded: number
  failed: number
  skipped: number
  total?: number
  message?: string
}

/** How often a job is looked at, in milliseconds. */
const POLL_INTERVAL_MS = 200

/** `dead-letters replay [ID]`: one, or all that wait. */
export function replayEntries(
  context: CommandContext,
  id: string | undefined,
  options: ReplayOptions,
): Promise<number> {
  return withApi(context, { canWrite: true }, (api) =>
    id === undefined ? replayBatch(context, api, options) : replayEntry(context, api, id, options),
  )
}

async function replayEntry(
  context: CommandContext,
  api: ApiBackend,
  id: string,
  { reason }: ReplayOptions,
): Promise<number> {
  const { io, globalOptions } = context
  const path = `/dead-letters/${encodeURIComponent(id)}/replay`
  const entry = await requestJson<WireDeadLetter>(api, 'POST', path, reasonHeader(reason))
  if (globalOptions.json) printJson(context, entry)
  else if (entry.status === 'completed') io.out(`${entry.dlq_id} completed\n`)
  else if (entry.status === 'pending')
    io.out(
      `${entry.dlq_id} noted: there is no handler for ${formatInline(entry.operation_type)} here, a worker elsewhere takes it up\n`,
    )
  else {
    const { error_type, error_message } = entry.error_details.history?.at(-1) ?? entry.error_details
    io.out(`${entry.dlq_id} ${entry.status}: ${formatInline(`${error_type}: ${error_message}`)}\n`)
  }
  return entry.status === 'failed' ? EXIT_CODES.failure : EXIT_CODES.ok
}

interface Stats {
  by_status: { failed: number }
  by_operation: Record<string, { failed: number }>
}

/** Says how entries are replayed whose replay failed before: a batch takes pending ones alone. */
async function hintFailed(
  { io }: CommandContext,
  api: ApiBackend,
  operation: string | undefined,
): Promise<void> {
  const { by_status, by_operation } = await requestJson<Stats>(api, 'GET', '/dead-letters/stats')
  const counts =
    operation === undefined ? by_status : Object.hasOwn(by_operation, operation) && by_operation[operation]
  const failed = counts ? counts.failed : 0
  if (failed > 0)
    io.err(
      `nothing is pending; ${failed} failed before and ${failed === 1 ? 'is' : 'are'} replayed with --retry-failed\n`,
    )
}

/** Follows a job to its end. Ctrl-C ends it after what is under way, and what is left stays for the next time. */
async function replayBatch(
  context: CommandContext,
  api: ApiBackend,
  options: ReplayOptions,
): Promise<number> {
  const { io, globalOptions } = context
  const { operation, limit, concurrency, rate, retryFailed, reason } = options
  const bar = createProgressBar(io)
  const begin = { operation, limit, concurrency, rate, retry_failed: retryFailed }
  let job = await requestJson<WireJob>(api, 'POST', '/dead-letters/replay', {
    body: begin,
    ...reasonHeader(reason),
  })
  const path = `/jobs/${encodeURIComponent(job.job_id)}`
  const follow = async (signal?: AbortSignal): Promise<void> => {
    while (job.status === 'running' && !signal?.aborted) {
      await waitOrAbort(io, POLL_INTERVAL_MS, signal)
      job = await requestJson<WireJob>(api, 'GET', path)
      bar.show({ done: job.succeeded + job.failed, failed: job.failed, total: job.total })
    }
  }
  const interrupted = await runUntilInterrupted(io, follow)
  if (interrupted) {
    await requestJson(api, 'POST', `${path}/cancel`)
    await follow()
  }
  bar.end()
  const { succeeded, failed, skipped } = job
  if (globalOptions.json) printJson(context, { succeeded, failed, skipped, interrupted })
  else io.out(`${succeeded} replayed, ${failed} failed, ${skipped} left\n`)
  if (interrupted) {
    io.err('interrupted: nothing is lost; the same command goes on with what is left\n')
    return EXIT_CODES.interrupted
  }
  if (job.status === 'failed')
    throw new CommandFailure(EXIT_CODES.failure, job.message ?? 'the replay failed')
  if (!retryFailed && !globalOptions.json && succeeded + failed + skipped === 0)
    await hintFailed(context, api, operation)
  if (skipped > 0 && !globalOptions.json)
    io.err(
      'left: their handler is in another process, which takes them up, or the breaker opened; look at holdfast breakers\n',
    )
  return failed > 0 ? EXIT_CODES.failure : EXIT_CODES.ok
}
