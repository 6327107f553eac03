import type { deadLetterStatsSchema } from '@holdfast/runtime'
import type { z } from 'zod'
import type { WireJob } from '../../routes/jobs.js'
import { waitOrAbort } from '../../wait-or-abort.js'
import type { WireDeadLetter } from '../../wire-types.js'
import { type ApiBackend, reasonHeader, requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { printJson } from '../output/print.js'
import { createProgressBar } from '../output/progress.js'
import { formatInline } from '../output/text.js'
import { type EntrySelection, fetchCount, toQuery } from './dead-letters.js'
import { runUntilInterrupted } from './interrupt.js'

export interface ReplayArguments extends EntrySelection {
  limit?: number
  concurrency?: number
  rate?: number
  retryFailed?: boolean
  dryRun?: boolean
  waitForBreaker?: boolean
  reason?: string
}

/** How often the progress of a job is read. */
const POLL_INTERVAL_MS = 200

/** `dead-letters replay [ID]`: replays one dead letter, or all that match. */
export function replayEntries(
  context: CommandContext,
  id: string | undefined,
  options: ReplayArguments,
): Promise<number> {
  return withApi(context, { canWrite: true }, (api) => {
    if (id !== undefined) return replayEntry(context, api, id, options)
    return options.dryRun ? countMatching(context, api, options) : replayBatch(context, api, options)
  })
}

/** Prints the number of dead letters that the same command without `--dry-run` replays. */
async function countMatching(
  context: CommandContext,
  api: ApiBackend,
  options: ReplayArguments,
): Promise<number> {
  const query = toQuery(context, options)
  const status = query.status ?? (options.retryFailed ? ['pending', 'failed'] : ['pending'])
  const { pending, failed } = (await fetchCount(api, { ...query, status })).by_status
  const matching = Math.min(pending + failed, options.limit ?? Number.POSITIVE_INFINITY)
  if (context.globalOptions.json) printJson(context, { matching })
  else context.io.out(`${matching} dead letters match\n`)
  return EXIT_CODES.ok
}

async function replayEntry(
  context: CommandContext,
  api: ApiBackend,
  id: string,
  { reason, waitForBreaker }: ReplayArguments,
): Promise<number> {
  const { io, globalOptions } = context
  const path = `/dead-letters/${encodeURIComponent(id)}/replay`
  const entry = await requestJson<WireDeadLetter>(api, 'POST', path, {
    ...(waitForBreaker ? { body: { wait_for_breaker: true } } : {}),
    ...reasonHeader(reason),
  })
  if (globalOptions.json) printJson(context, entry)
  else if (entry.status === 'completed') io.out(`${entry.dlq_id} completed\n`)
  else if (entry.replay_requested_at != null)
    io.out(
      `${entry.dlq_id} requested: ${
        waitForBreaker
          ? `it is replayed when the breaker of ${formatInline(entry.operation_type)} closes, by a process that has the handler`
          : `this process has no handler for ${formatInline(entry.operation_type)}; a worker of another process replays it`
      }\n`,
    )
  else {
    const { error_type, error_message } = entry.error_details.history?.at(-1) ?? entry.error_details
    io.out(`${entry.dlq_id} failed again: ${formatInline(`${error_type}: ${error_message}`)}\n`)
  }
  return entry.status === 'failed' ? EXIT_CODES.failure : EXIT_CODES.ok
}

type WireStats = z.input<typeof deadLetterStatsSchema>

/** Prints how to replay failed dead letters, because a batch replays only pending ones. */
async function hintFailed(
  { io }: CommandContext,
  api: ApiBackend,
  operation: string | undefined,
): Promise<void> {
  const { by_status, by_operation } = await requestJson<WireStats>(api, 'GET', '/dead-letters/stats')
  const counts =
    operation === undefined ? by_status : Object.hasOwn(by_operation, operation) && by_operation[operation]
  const failed = counts ? counts.failed : 0
  if (failed > 0) io.err(`no pending dead letters; --retry-failed replays ${failed} that failed before\n`)
}

/** Why dead letters were skipped. */
function describeSkip({ reason, count, operations }: WireJob['skips'][number]): string {
  const names = formatInline(operations.join(', '))
  switch (reason) {
    case 'no_handler':
      return `${count} skipped: this process has no handler for ${names}; a worker of another process replays them`
    case 'unavailable':
      return `${count} skipped: ${names} is unavailable; see holdfast breakers, or add --wait-for-breaker`
    case 'waiting':
      return `${count} waiting: they are replayed when the breaker of ${names} closes, by a process that has the handler`
    case 'stopped':
      return `${count} skipped: the replay was stopped`
    case 'changed':
      return `${count} skipped: another process replayed, leased or deleted them`
  }
}

/** Starts a batch replay and shows its progress. After Ctrl-C the replays in progress are completed, the others stay pending. */
async function replayBatch(
  context: CommandContext,
  api: ApiBackend,
  options: ReplayArguments,
): Promise<number> {
  const { io, globalOptions } = context
  const { operation, limit, concurrency, rate, retryFailed, waitForBreaker, reason } = options
  const bar = createProgressBar(io)
  const body = {
    ...toQuery(context, options),
    limit,
    concurrency,
    rate,
    retry_failed: retryFailed,
    wait_for_breaker: waitForBreaker,
  }
  let job = await requestJson<WireJob>(api, 'POST', '/dead-letters/replay', {
    body,
    ...reasonHeader(reason),
  })
  const path = `/jobs/${encodeURIComponent(job.job_id)}`
  const followJob = async (signal?: AbortSignal): Promise<void> => {
    while (job.status === 'running' && !signal?.aborted) {
      await waitOrAbort(io.clock, POLL_INTERVAL_MS, signal)
      job = await requestJson<WireJob>(api, 'GET', path)
      bar.show({ done: job.succeeded + job.failed, failed: job.failed, total: job.total ?? undefined })
    }
  }
  const isInterrupted = await runUntilInterrupted(io, followJob)
  if (isInterrupted) {
    await requestJson(api, 'POST', `${path}/cancel`)
    await followJob()
  }
  bar.end()
  const { succeeded, failed, skipped } = job
  if (globalOptions.json) printJson(context, { succeeded, failed, skipped, interrupted: isInterrupted })
  else io.out(`${succeeded} succeeded, ${failed} failed, ${skipped} skipped\n`)
  if (isInterrupted) {
    io.err('interrupted; run the same command again to continue\n')
    return EXIT_CODES.interrupted
  }
  if (job.status === 'failed')
    throw new CommandFailure(EXIT_CODES.failure, job.message ?? 'the replay failed')
  if (!retryFailed && !globalOptions.json && succeeded + failed + skipped === 0)
    await hintFailed(context, api, operation)
  if (!globalOptions.json) for (const skip of job.skips) io.err(`${describeSkip(skip)}\n`)
  return failed > 0 ? EXIT_CODES.failure : EXIT_CODES.ok
}
