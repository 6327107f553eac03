import { createRun } from '../attempt/attempt.js'
import { unwrapStopRetrying } from '../retry/decide.js'
import { attachSession, type Session, sessionSequence } from '../session/session.js'
import { AttemptLog } from './attempt-log.js'
import type { Executed } from './call.js'
import type { Executor } from './executor.js'

/** Makes a call without any strategy, as with `enabled: false`. Its session, that of an error too, has one attempt. */
export async function executeDirectly<T>(executor: Executor, call: () => Promise<T>): Promise<Executed<T>> {
  const startedAt = executor.settings.clock.now()
  const run = createRun(1, startedAt, sessionSequence(), undefined, undefined)
  const log = new AttemptLog({ executor, policy: executor.settings.retry, number: 1, delay: 0, run })
  try {
    const value = await call()
    log.append(run, 'success', false, value, undefined)
    return { value, session: log.createSession() }
  } catch (thrown) {
    const error = unwrapStopRetrying(thrown)
    log.append(run, 'failure', true, error, undefined)
    const session: Session = { ...log.createSession(), success: false, stopped: 'attempts_spent' }
    attachSession(error, session, executor, false)
    throw error
  }
}
