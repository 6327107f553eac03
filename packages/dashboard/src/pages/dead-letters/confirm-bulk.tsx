import { signal } from '@preact/signals'
import { confirm } from '../../components/confirm-dialog.js'
import { formatCount, formatPlural } from '../../format.js'
import {
  type BulkTarget,
  fetchCount,
  pinFilter,
  purgeTarget,
  replayableCount,
  replayTarget,
} from './bulk-actions.js'
import { describeFilter, type WireDeadLetterFilter } from './filter.js'

/** Actions on more entries than this must be confirmed by typing their number. */
const MAX_UNTYPED_ENTRIES = 100

const typedText = (count: number): string | undefined =>
  count > MAX_UNTYPED_ENTRIES ? String(count) : undefined

/** The option to wait for the breaker, which a confirmation of a replay has. */
export function createWaitOption() {
  const isWaiting = signal(false)
  const Option = () => (
    <label class="choice">
      <input
        type="checkbox"
        checked={isWaiting.value}
        onChange={(change) => {
          isWaiting.value = change.currentTarget.checked
        }}
      />
      Replay when the breaker closes, if it is open
    </label>
  )
  return { isWaiting, Option }
}

function FilterText({ filter }: { filter: WireDeadLetterFilter }) {
  return (
    <ul class="skips">
      {describeFilter(filter).map((part) => (
        <li key={part}>{part}</li>
      ))}
    </ul>
  )
}

/** Asks for a confirmation and replays the target. `start` shows the progress. */
function confirmReplay(
  target: BulkTarget,
  count: number,
  title: string,
  start: (work: Promise<void>) => void,
): void {
  const { isWaiting, Option } = createWaitOption()
  confirm({
    title,
    text: (
      <>
        <p>The handlers are called oldest first, each with its payload and the same idempotency key.</p>
        {target.ids === undefined && <FilterText filter={target.filter} />}
        <Option />
      </>
    ),
    action: 'Replay',
    typedText: typedText(count),
    run: async (reason) => start(replayTarget(target, count, { reason, waitForBreaker: isWaiting.peek() })),
  })
}

/** Asks for a confirmation and deletes the target. */
function confirmPurge(
  target: BulkTarget,
  count: number,
  title: string,
  start: (work: Promise<void>) => void,
): void {
  confirm({
    title,
    text: (
      <>
        <p>This cannot be undone. Export them first if you may need the payloads.</p>
        {target.ids === undefined && <FilterText filter={target.filter} />}
      </>
    ),
    action: 'Delete',
    isDangerous: true,
    typedText: typedText(count),
    run: async (reason) => start(purgeTarget(target, count, reason)),
  })
}

const entries = (count: number): string => formatPlural(count, 'dead letter', 'dead letters')

export const confirmReplaySelected = (target: BulkTarget, start: (work: Promise<void>) => void): void => {
  const count = target.ids?.length ?? 0
  confirmReplay(target, count, `Replay ${entries(count)}?`, start)
}

export const confirmPurgeSelected = (target: BulkTarget, start: (work: Promise<void>) => void): void => {
  const count = target.ids?.length ?? 0
  confirmPurge(target, count, `Delete ${entries(count)}?`, start)
}

/** Counts the matching dead letters and asks whether to replay exactly these. */
export async function confirmReplayMatching(
  filter: WireDeadLetterFilter,
  start: (work: Promise<void>) => void,
): Promise<void> {
  const counted = await fetchCount(filter)
  const count = replayableCount(counted)
  const title = `Replay ${formatCount(count)} matching ${count === 1 ? 'dead letter' : 'dead letters'}?`
  confirmReplay({ filter: pinFilter(filter, counted) }, count, title, start)
}

/** Counts the matching dead letters and asks whether to delete exactly these. */
export async function confirmPurgeMatching(
  filter: WireDeadLetterFilter,
  start: (work: Promise<void>) => void,
): Promise<void> {
  const counted = await fetchCount(filter)
  const title = `Delete ${formatCount(counted.total)} matching ${counted.total === 1 ? 'dead letter' : 'dead letters'}?`
  confirmPurge({ filter: pinFilter(filter, counted) }, counted.total, title, start)
}
