import { unwrapStopRetrying } from '../retry/decide.js'
import { attachSession, sessionSequence } from '../session/session.js'
import { AttemptLog } from './attempt-log.js'
import type { Executed } from './execution.js'
import type { Executor } from './executor.js'

/** Makes a call without any strategy, as with `enabled: false`. Its session, that of an error too, has one attempt. */
export async function executeDirectly<T>(executor: Executor, call: () => Promise<T>): Promise<Executed<T>> {
  const startedAt = executor.settings.clock.now()
  const sequence = sessionSequence()
  const log = new AttemptLog()
  const run = { number: 1, startedAt, context: undefined, selection: undefined, isMemberFault: undefined }
  try {
    const value = await call()
    log.append(executor, run, 0, 'success', false, value, undefined, sequence)
    return { value, session: log.createSession(executor, 'succeeded') }
  } catch (thrown) {
    const error = unwrapStopRetrying(thrown)
    log.append(executor, run, 0, 'failure', true, error, undefined, sequence)
    attachSession(error, log.createSession(executor, 'attempts_spent'), executor, false)
    throw error
  }
}
