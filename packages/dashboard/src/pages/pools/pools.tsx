import { getJson } from '../../api/client.js'
import type { WirePage, WirePoolSummary } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { EmptyState, PageHead, QueryView, StateLabel } from '../../components/basics.js'
import { formatCount } from '../../format.js'
import { route, urlFor } from '../../route.js'
import { MemberTable } from './members.js'

/** Which of several each attempt goes to, and how they do. */
export function Pools() {
  const loaded = useQuery(
    'pools',
    (signal) => getJson<WirePage<WirePoolSummary>>('/pools', { limit: '1000' }, signal),
    5000,
  )
  return (
    <>
      <PageHead title="Pools" />
      <QueryView of={loaded}>
        {({ items }) => {
          const chosen = items.find(({ id }) => id === route.value.query['id']) ?? items[0]
          return chosen === undefined ? (
            <EmptyState title="There are no pools">
              Name one under <code>pools</code> in the file, with members that have a <code>url</code> each.
            </EmptyState>
          ) : (
            <>
              <ul class="tiles few">
                {items.map((pool) => (
                  <li class={`tile ${pool.id === chosen.id ? 'chosen' : ''}`} key={pool.id}>
                    <span class="tile-name">
                      <a
                        href={urlFor('/pools', { id: pool.id })}
                        aria-current={pool.id === chosen.id ? 'true' : undefined}
                      >
                        {pool.id}
                      </a>
                    </span>
                    <span class="tile-value">
                      {formatCount(pool.size)} <small>{pool.size === 1 ? 'member' : 'members'}</small>
                    </span>
                    <span class="tile-note">
                      {Object.entries(pool.by_status).map(([status, size]) => (
                        <span key={status}>
                          <StateLabel of={status} /> {formatCount(size)}{' '}
                        </span>
                      ))}
                    </span>
                  </li>
                ))}
              </ul>
              <MemberTable key={chosen.id} pool={chosen.id} onChange={loaded.reload} />
            </>
          )
        }}
      </QueryView>
    </>
  )
}
