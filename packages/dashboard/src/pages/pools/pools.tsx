import { getJson } from '../../api/client.js'
import type { WirePage, WirePool } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { EmptyState, PageHead, QueryView, StateLabel } from '../../components/basics.js'
import { formatCount } from '../../format.js'
import { route, urlFor } from '../../route.js'
import { MemberTable } from './members.js'

/** The page of pools and their members. */
export function Pools() {
  const loaded = useQuery(
    'pools',
    (signal) => getJson<WirePage<WirePool>>('/pools', { limit: '1000' }, signal),
    5000,
  )
  return (
    <>
      <PageHead title="Pools" />
      <QueryView of={loaded}>
        {({ items }) => {
          const selected = items.find(({ id }) => id === route.value.query['id']) ?? items[0]
          return selected === undefined ? (
            <EmptyState title="No pools">
              Add one under <code>pools</code> in the config file, with members that have a <code>url</code>.
            </EmptyState>
          ) : (
            <>
              <ul class="tiles few">
                {items.map((pool) => (
                  <li class={`tile ${pool.id === selected.id ? 'chosen' : ''}`} key={pool.id}>
                    <span class="tile-name">
                      <a
                        href={urlFor('/pools', { id: pool.id })}
                        aria-current={pool.id === selected.id ? 'true' : undefined}
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
              <MemberTable key={selected.id} pool={selected.id} onChange={loaded.reload} />
            </>
          )
        }}
      </QueryView>
    </>
  )
}
