import { fetchList, requestJson, withApi } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import type { WireAttempt } from '../output/attempts.js'
import { printJson, printList } from '../output/print.js'
import { formatInline, formatRelativeTime, formatSeconds } from '../output/text.js'

interface WireSession {
  session_id: string
  operation: string
  policy_id: string
  correlation_id: string
  start_time: string
  success: boolean
  stopped?: string | null
  total_attempts: number
  total_duration: number
  final_error?: { type: string; message: string } | null
  next_retry_time?: string | null
  attempts: WireAttempt[]
}

export interface SessionsOptions {
  active?: boolean
  failed?: boolean
  operation?: string
  correlation?: string
  limit: number
}

/** `listSessions`: calls that failed at least once. */
export async function listSessions(context: CommandContext, options: SessionsOptions): Promise<void> {
  const { active, failed, operation, correlation, limit } = options
  const live = active ? { liveReason: 'sessions that run now are known to their process alone' } : {}
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
      head: ['session', 'ended', 'attempts', 'began', 'took', 'operation', 'error'],
      row: (session) => [
        session.session_id,
        session.stopped ?? `next ${formatRelativeTime(session.next_retry_time, context.io.clock.wall())}`,
        session.total_attempts,
        formatRelativeTime(session.start_time, context.io.clock.wall()),
        formatSeconds(session.total_duration),
        session.operation,
        session.final_error ? `${session.final_error.type}: ${session.final_error.message}` : null,
      ],
      emptyMessage: 'there are no such sessions: calls that succeed at once leave none',
    })
  })
}

/** `sessions show ID`: one with all its attempts. */
export async function showSession(context: CommandContext, id: string): Promise<void> {
  const { io, globalOptions } = context
  const session = await withApi(context, {}, (api) =>
    requestJson<WireSession>(api, 'GET', `/sessions/${encodeURIComponent(id)}`),
  )
  if (globalOptions.json) return printJson(context, session)
  const end = session.success ? 'succeeded' : (session.stopped ?? 'runs')
  io.out(
    `${formatInline(session.operation)}  ${end} after ${formatSeconds(session.total_duration)}  (policy ${formatInline(session.policy_id)}, correlation ${formatInline(session.correlation_id)})\n`,
  )
  const { formatAttempts } = await import('../output/attempts.js')
  io.out(formatAttempts(io, session.attempts))
}
