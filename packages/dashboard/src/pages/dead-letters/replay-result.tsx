import type { WireDeadLetter } from '../../api/types.js'
import { ActionButton } from '../../components/action-button.js'
import { latestError } from './table.js'

/** The result of the replay of one dead letter. A replay that failed again says so. */
export function ReplayResult({
  entry,
  isWaiting,
  onWait,
}: {
  entry: WireDeadLetter
  /** Whether the replay should wait for the breaker. */
  isWaiting: boolean
  onWait: () => void
}) {
  if (entry.status === 'completed')
    return (
      <p class="note good" role="status">
        The replay succeeded.
      </p>
    )
  if (entry.status === 'failed') {
    const { error_type, error_message } = latestError(entry)
    return (
      <div class="problem" role="alert">
        The replay failed again: {error_type}: {error_message}{' '}
        <ActionButton type="button" class="small secondary" onClick={onWait}>
          Replay when the breaker closes
        </ActionButton>
      </div>
    )
  }
  return (
    <p class="note" role="status">
      {isWaiting
        ? `The breaker of ${entry.operation_type} is open, or this process has no handler. The replay follows when the breaker closes, by a process that has the handler.`
        : `This process has no handler for ${entry.operation_type}. A worker of another process replays the dead letter.`}
    </p>
  )
}
