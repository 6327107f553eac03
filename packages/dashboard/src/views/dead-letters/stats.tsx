import type { DeadLetterStats } from '../../api/types.js'
import { count } from '../../format.js'
import { Panel, State, Table, Time } from '../../parts/basics.js'
import { address } from '../../route.js'

const STATUSES = ['pending', 'replaying', 'failed', 'completed'] as const

/** How many there are, by operation and state; each number leads to those it counts. */
export function Stats({ stats }: { stats: DeadLetterStats }) {
  const operations = Object.entries(stats.by_operation).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return (
    <Panel
      title="By operation"
      actions={
        stats.oldest != null && (
          <span class="hint">
            the oldest that waits: <Time at={stats.oldest} />
          </span>
        )
      }
    >
      <Table
        label="Dead letters by operation"
        head={[
          'Operation',
          ...STATUSES.map((status) => (
            <span class="number">
              <State of={status} />
            </span>
          )),
        ]}
      >
        {operations.map(([operation, counts]) => (
          <tr key={operation}>
            <th scope="row">
              <a href={address('/dead-letters', { operation })}>{operation}</a>
            </th>
            {STATUSES.map((status) => (
              <td class="number">
                {counts[status] === 0 ? (
                  '0'
                ) : (
                  <a
                    href={address('/dead-letters', { operation, status })}
                    aria-label={`${counts[status]} ${status} of ${operation}`}
                  >
                    {count(counts[status])}
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
