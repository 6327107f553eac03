import { get } from '../../api/call.js'
import { useLoad } from '../../api/load.js'
import type { Page, PoolSummary } from '../../api/types.js'
import { count } from '../../format.js'
import { Empty, Head, Show, State } from '../../parts/basics.js'
import { address, route } from '../../route.js'
import { Members } from './members.js'

/** Which of several each attempt goes to, and how they do. */
export function Pools() {
  const loaded = useLoad(
    'pools',
    (signal) => get<Page<PoolSummary>>('/pools', { limit: '1000' }, signal),
    5000,
  )
  return (
    <>
      <Head title="Pools" />
      <Show of={loaded}>
        {({ items }) => {
          const chosen = items.find(({ id }) => id === route.value.query['id']) ?? items[0]
          return chosen === undefined ? (
            <Empty title="There are no pools">
              Name one under <code>pools</code> in the file, with members that have a <code>url</code> each.
            </Empty>
          ) : (
            <>
              <ul class="tiles few">
                {items.map((pool) => (
                  <li class={`tile ${pool.id === chosen.id ? 'chosen' : ''}`} key={pool.id}>
                    <span class="tile-name">
                      <a
                        href={address('/pools', { id: pool.id })}
                        aria-current={pool.id === chosen.id ? 'true' : undefined}
                      >
                        {pool.id}
                      </a>
                    </span>
                    <span class="tile-value">
                      {count(pool.size)} <small>{pool.size === 1 ? 'member' : 'members'}</small>
                    </span>
                    <span class="tile-note">
                      {Object.entries(pool.by_status).map(([status, size]) => (
                        <span key={status}>
                          <State of={status} /> {count(size)}{' '}
                        </span>
                      ))}
                    </span>
                  </li>
                ))}
              </ul>
              <Members key={chosen.id} pool={chosen.id} onChange={loaded.reload} />
            </>
          )
        }}
      </Show>
    </>
  )
}
