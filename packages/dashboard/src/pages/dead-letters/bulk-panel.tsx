import type { ComponentChildren } from 'preact'
import type { WireJob } from '../../api/types.js'
import { ActionButton } from '../../components/action-button.js'
import { formatCount } from '../../format.js'
import { urlFor } from '../../route.js'
import { type BulkWork, bulkWork, stopBulkWork } from './bulk-actions.js'
import { filterQuery } from './filter.js'

type Skip = WireJob['skips'][number]

/** Why entries were skipped. */
function SkipReason({ skip, onWait }: { skip: Skip; onWait: () => void }) {
  const operations = skip.operations.join(', ')
  const breakers = <a href={urlFor('/breakers', { state: 'open' })}>its breaker is open</a>
  const texts: Record<Skip['reason'], ComponentChildren> = {
    no_handler: `this process has no handler for ${operations}. A worker of another process replays them.`,
    unavailable: (
      <>
        {operations} is unavailable: {breakers}, its pool has no available member, or the network is down.{' '}
        <ActionButton type="button" class="small secondary" onClick={onWait}>
          Replay when the breaker closes
        </ActionButton>
      </>
    ),
    waiting: `they are replayed when the breaker of ${operations} closes.`,
    stopped: 'the replay was stopped.',
    changed: 'they were replayed or deleted meanwhile.',
  }
  return (
    <li>
      {formatCount(skip.count)} {skip.reason === 'waiting' ? 'waiting' : 'skipped'}: {texts[skip.reason]}
    </li>
  )
}

/** The result as "35 succeeded, 37 failed, 2 skipped"; each number links to its entries. */
function BulkResult({ work }: { work: BulkWork }) {
  const { kind, succeeded, failed, skipped, target } = work
  const link = (count: number, text: string, status: string) =>
    count === 0 ? (
      `0 ${text}`
    ) : (
      <a href={urlFor('/dead-letters', filterQuery(target.filter, status))}>
        {formatCount(count)} {text}
      </a>
    )
  if (kind === 'delete')
    return (
      <>
        {formatCount(succeeded)} deleted
        {skipped > 0 && <>, {link(skipped, 'skipped because they are being replayed', 'replaying')}</>}
      </>
    )
  return (
    <>
      {link(succeeded, 'succeeded', 'completed')}, {link(failed, 'failed', 'failed')},{' '}
      {link(skipped, 'skipped', 'pending')}
    </>
  )
}

/** The progress of a bulk action, and its result. */
export function BulkPanel({ onWait }: { onWait: (work: BulkWork) => void }) {
  const work = bulkWork.value
  if (work === undefined) return null
  const title = work.kind === 'replay' ? 'Replay' : 'Delete'
  const done = work.succeeded + work.failed + work.skipped
  return (
    <section class="panel work" aria-label={title}>
      <p role="status">
        <strong>{title}</strong>:{' '}
        {work.isEnded ? (
          <>
            <BulkResult work={work} />.
          </>
        ) : (
          `${formatCount(done)} of ${formatCount(work.total)} done${work.failed > 0 ? `, ${formatCount(work.failed)} failed` : ''}`
        )}
      </p>
      {work.message !== undefined && (
        <p class="problem" role="alert">
          {work.message}
        </p>
      )}
      {work.skips.length > 0 && (
        <ul class="skips">
          {work.skips.map((skip) => (
            <SkipReason key={skip.reason} skip={skip} onWait={() => onWait(work)} />
          ))}
        </ul>
      )}
      {!work.isEnded && <progress aria-label={title} max={Math.max(work.total, 1)} value={done} />}
      <div class="actions">
        {work.isEnded ? (
          <button
            type="button"
            class="small secondary"
            onClick={() => {
              bulkWork.value = undefined
            }}
          >
            Close
          </button>
        ) : (
          <ActionButton type="button" class="small secondary" onClick={stopBulkWork}>
            Stop
          </ActionButton>
        )}
      </div>
    </section>
  )
}
