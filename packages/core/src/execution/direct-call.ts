import { sessionSequence } from '../session/session.js'
import { AttemptLog } from './attempt-log.js'
import type { Executed } from './execution.js'
import type { Executor } from './executor.js'

/** Makes a call without any strategy, as with `enabled: false`. Its session has one attempt. */
export async function executeDirectly<T>(executor: Executor, call: () => Promise<T>): Promise<Executed<T>> {
  const startedAt = executor.settings.clock.now()
  const sequence = sessionSequence()
  const value = await call()
  const log = new AttemptLog()
  const run = { number: 1, startedAt, context: undefined, selection: undefined, isMemberFault: undefined }
  log.append(executor, run, 0, 'success', false, value, undefined, sequence)
  return { value, session: log.createSession(executor, 'succeeded') }
}
