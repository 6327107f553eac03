import type { WireSession } from '../../wire-types.js'
import { fetchList, requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { printJson, printList } from '../output/print.js'
import { formatInline, formatRelativeTime, formatSeconds } from '../output/text.js'

export interface SessionsOptions {
  active?: boolean
  failed?: boolean
  operation?: string
  correlation?: string
  limit: number
}

/** `sessions`: lists calls with at least one failed attempt. */
export async function listSessions(context: CommandContext, options: SessionsOptions): Promise<void> {
  const { active, failed, operation, correlation, limit } = options
  const live = active ? { liveReason: 'sessions --active lists the running calls of a process' } : {}
  await withApi(context, live, async (api) => {
    const query = {
      operation,
      correlation_id: correlation,
      ...(active ? { active } : {}),
      ...(failed ? { success: false } : {}),
    }
    const found = await fetchList<WireSession>(api, '/sessions', { limit, query })
    printList(context, {
      ...found,
      head: ['session', 'stopped', 'attempts', 'started', 'duration', 'operation', 'error'],
      row: (session) => [
        session.session_id,
        session.stopped ?? `retry ${formatRelativeTime(session.next_retry_time, context.io.clock.wall())}`,
        session.total_attempts,
        formatRelativeTime(session.start_time, context.io.clock.wall()),
        formatSeconds(session.total_duration),
        session.operation,
        session.final_error ? `${session.final_error.type}: ${session.final_error.message}` : null,
      ],
      emptyMessage: 'no sessions found; calls that succeed at the first attempt have none',
    })
  })
}

/** `sessions show ID`: prints one session with all its attempts. */
export async function showSession(context: CommandContext, id: string): Promise<void> {
  const { io, globalOptions } = context
  const session = await withApi(context, {}, (api) =>
    requestJson<WireSession>(api, 'GET', `/sessions/${encodeURIComponent(id)}`),
  )
  if (globalOptions.json) return printJson(context, session)
  const state = session.success ? 'succeeded' : (session.stopped ?? 'running')
  io.out(
    `${formatInline(session.operation)}  ${state} after ${formatSeconds(session.total_duration)}  (policy ${formatInline(session.policy_id)}, correlation ${formatInline(session.correlation_id)})\n`,
  )
  const { formatAttempts } = await import('../output/attempts.js')
  io.out(formatAttempts(io, session.attempts))
}
