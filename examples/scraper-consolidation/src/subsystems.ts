import type { Holdfast } from '@holdfast/runtime'
import { systemClock } from 'holdfast/internal'

/** A task of a subsystem: its operation, its fault, and how often the fault happens. */
export interface Task {
  readonly operation: string
  readonly name: string
  readonly fault: 'reset' | 'busy' | 'silent' | 'ENOSPC' | 'EACCES' | 'NoSuchProcess'
  readonly times: number
}

/** One task for each mapping of the config file. */
export const TASKS: readonly Task[] = [
  { operation: 'browser.state_operations', name: 'save_state', fault: 'silent', times: 2 },
  { operation: 'browser.state_operations', name: 'load_state', fault: 'reset', times: 3 },
  { operation: 'browser.state_operations', name: 'write_snapshot', fault: 'ENOSPC', times: 1 },
  { operation: 'browser.monitoring_operations', name: 'sample_memory', fault: 'silent', times: 1 },
  { operation: 'browser.monitoring_operations', name: 'read_proc', fault: 'EACCES', times: 9 },
  { operation: 'browser.monitoring_operations', name: 'list_children', fault: 'NoSuchProcess', times: 2 },
  { operation: 'browser.session_operations', name: 'open_session', fault: 'busy', times: 1 },
  { operation: 'navigation.route_adaptation.retry_with_delay', name: 'adapt_route', fault: 'busy', times: 2 },
  { operation: 'telemetry.error_handling', name: 'report_error', fault: 'reset', times: 1 },
  { operation: 'telemetry.batch_processing', name: 'send_batch', fault: 'busy', times: 3 },
  { operation: 'telemetry.alerting.notification', name: 'notify', fault: 'reset', times: 4 },
  { operation: 'telemetry.simple_retries', name: 'ping', fault: 'busy', times: 1 },
]

/** The timeout of the browser for a request. */
const TIMEOUT_MS = 250

/** Runs a task once. Local faults are thrown here, network faults come from the service. */
export async function perform(hf: Holdfast, service: string, task: Task, id: string): Promise<string> {
  let tries = 0
  return hf.run(
    task.operation,
    async ({ signal }) => {
      if (!['reset', 'busy', 'silent'].includes(task.fault)) {
        if (++tries <= task.times) throw localFailure(task.fault)
        return `${task.name} done`
      }
      const url = `${service}/${task.name}?id=${id}&fault=${task.fault}&times=${task.times}`
      const answer = await patiently((own) => fetch(url, { signal: AbortSignal.any([signal, own]) }))
      if (!answer.ok)
        throw Object.assign(new Error(`HTTP ${answer.status}`), { response: answer, status: answer.status })
      return answer.text()
    },
    { name: task.name, context: { id } },
  )
}

/** Aborts a request after the timeout of the browser. */
async function patiently<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const late = new DOMException('The page did not answer in time', 'TimeoutError')
  const timer = systemClock.setTimer(() => controller.abort(late), TIMEOUT_MS)
  try {
    return await ask(controller.signal)
  } finally {
    systemClock.clearTimer(timer)
  }
}

function localFailure(fault: Task['fault']): Error {
  if (fault === 'NoSuchProcess') return Object.assign(new Error('process 4711 is gone'), { name: fault })
  return Object.assign(new Error(fault === 'ENOSPC' ? 'no space left on device' : 'permission denied'), {
    code: fault,
  })
}
