import type { Context } from '../context.js'
import type { Attempt } from '../output/attempts.js'
import { printJson, printList } from '../output/print.js'
import { shown, span, when } from '../output/text.js'
import { ask, listed, withApi } from '../source/api.js'

interface Session {
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
  attempts: Attempt[]
}

export interface SessionsOptions {
  active?: boolean
  failed?: boolean
  operation?: string
  correlation?: string
  limit: number
}

/** `sessions`: calls that failed at least once. */
export async function sessions(context: Context, options: SessionsOptions): Promise<void> {
  const { active, failed, operation, correlation, limit } = options
  const live = active ? { live: 'sessions that run now are known to their process alone' } : {}
  await withApi(context, live, async (api) => {
    const query = {
      operation,
      correlation_id: correlation,
      ...(active ? { active } : {}),
      ...(failed ? { success: false } : {}),
    }
    const found = await listed<Session>(api, '/sessions', { limit, query })
    printList(context, {
      ...found,
      head: ['session', 'ended', 'attempts', 'began', 'took', 'operation', 'error'],
      row: (session) => [
        session.session_id,
        session.stopped ?? `next ${when(session.next_retry_time, context.io.clock.wall())}`,
        session.total_attempts,
        when(session.start_time, context.io.clock.wall()),
        span(session.total_duration),
        session.operation,
        session.final_error ? `${session.final_error.type}: ${session.final_error.message}` : null,
      ],
      none: 'there are no such sessions: calls that succeed at once leave none',
    })
  })
}

/** `sessions show ID`: one with all its attempts. */
export async function showSession(context: Context, id: string): Promise<void> {
  const { io, shared } = context
  const session = await withApi(context, {}, (api) =>
    ask<Session>(api, 'GET', `/sessions/${encodeURIComponent(id)}`),
  )
  if (shared.json) return printJson(context, session)
  const end = session.success ? 'succeeded' : (session.stopped ?? 'runs')
  io.out(
    `${shown(session.operation)}  ${end} after ${span(session.total_duration)}  (policy ${shown(session.policy_id)}, correlation ${shown(session.correlation_id)})\n`,
  )
  const { attemptTable } = await import('../output/attempts.js')
  io.out(attemptTable(io, session.attempts))
}
