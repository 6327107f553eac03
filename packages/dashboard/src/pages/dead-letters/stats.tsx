import type { WireDeadLetter, WireDeadLetterStats } from '../../api/types.js'
import { Panel, StateLabel, Table, Time } from '../../components/basics.js'
import { formatCount } from '../../format.js'
import { urlFor } from '../../route.js'
import { ORDERED_STATUSES } from './filter.js'

/** The number of dead letters by operation and status; each number links to its dead letters. */
export function DeadLetterStatsTable({
  stats,
  oldestPending,
}: {
  stats: WireDeadLetterStats
  oldestPending: WireDeadLetter | undefined
}) {
  const operations = Object.entries(stats.by_operation).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return (
    <Panel
      title="By operation"
      actions={
        oldestPending !== undefined && (
          <span class="hint">
            Oldest pending:{' '}
            <a href={urlFor('/dead-letters', { id: oldestPending.dlq_id })}>
              <Time at={oldestPending.created_at} />
            </a>
          </span>
        )
      }
    >
      <Table
        label="Dead letters by operation"
        head={[
          'Operation',
          ...ORDERED_STATUSES.map((status) => (
            <span class="number">
              <StateLabel of={status} />
            </span>
          )),
        ]}
      >
        {operations.map(([operation, counts]) => (
          <tr key={operation}>
            <th scope="row">
              <a href={urlFor('/dead-letters', { operation })}>{operation}</a>
            </th>
            {ORDERED_STATUSES.map((status) => (
              <td class="number">
                {counts[status] === 0 ? (
                  '0'
                ) : (
                  <a
                    href={urlFor('/dead-letters', { operation, status })}
                    aria-label={`${counts[status]} ${status} of ${operation}`}
                  >
                    {formatCount(counts[status])}
                  </a>
                )}
              </td>
            ))}
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
