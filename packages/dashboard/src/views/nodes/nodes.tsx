import { get } from '../../api/call.js'
import { useLoad } from '../../api/load.js'
import type { Fleet, Node } from '../../api/types.js'
import { useEvents } from '../../feed/feed.js'
import { count, many } from '../../format.js'
import { Empty, Head, number, Panel, Show, State, Table, Time } from '../../parts/basics.js'
import { address } from '../../route.js'
import { type Opinion, opinionsOf } from './opinions.js'

/** So many breakers are listed. */
const SHOWN = 200

const tally = ({ opinions }: Node, state: string): number =>
  Object.values(opinions).filter((one) => one === state).length

/** The processes that share what they know, and what each thinks of breakers. */
export function Nodes() {
  const loaded = useLoad('nodes', (signal) => get<Fleet>('/nodes', {}, signal), 5000)
  useEvents((events) => {
    if (events.some(({ event_type }) => /^(node|shared_state|circuit_breaker)_/.test(event_type)))
      loaded.reload()
  })
  return (
    <>
      <Head title="Nodes" />
      <Show of={loaded}>
        {({ items, shared }) => (
          <>
            <Panel title={many(items.length, 'node', 'nodes')} actions={<Versions nodes={items} />}>
              <Table
                label="Nodes"
                head={['Node', 'Heartbeat', 'Version', 'Started', number('Open'), number('Half open')]}
              >
                {items.map((node) => (
                  <tr key={node.id}>
                    <th scope="row">
                      {node.id}
                      {node.self && <span class="hint"> this one</span>}
                    </th>
                    <td>
                      <Time at={node.last_seen} />
                    </td>
                    <td>{node.version}</td>
                    <td>
                      <Time at={node.started_at} />
                    </td>
                    <td class="number">{count(tally(node, 'open'))}</td>
                    <td class="number">{count(tally(node, 'half_open'))}</td>
                  </tr>
                ))}
              </Table>
              {shared === undefined && (
                <p class="hint">
                  This process shares nothing. With <code>shared: redis://…</code> in the file, all that name
                  the same Redis hold one opinion of what is broken, and show here.
                </p>
              )}
            </Panel>
            <Opinions opinions={opinionsOf(items)} nodes={items.length} />
          </>
        )}
      </Show>
    </>
  )
}

function Versions({ nodes }: { nodes: readonly Node[] }) {
  const versions = [...new Set(nodes.map(({ version }) => version))].toSorted()
  return versions.length < 2 ? null : <span class="hint">Versions differ: {versions.join(', ')}</span>
}

function Opinions({ opinions, nodes }: { opinions: readonly Opinion[]; nodes: number }) {
  return (
    <Panel title="What they think of breakers">
      {opinions.length === 0 ? (
        <Empty title="All breakers are closed, everywhere">
          One that a node sees failing shows here, with who thinks so.
        </Empty>
      ) : (
        <>
          <Table
            label="Opinions of breakers"
            head={[
              'Breaker',
              <span class="number">
                <State of="open" />
              </span>,
              <span class="number">
                <State of="half_open" />
              </span>,
              'Seen by',
            ]}
          >
            {opinions.slice(0, SHOWN).map(({ breaker, open, halfOpen }) => (
              <tr key={breaker}>
                <th scope="row">
                  <a href={address('/breakers', { q: breaker })}>{breaker}</a>
                </th>
                <td class="number">
                  {count(open.length)} of {count(nodes)}
                </td>
                <td class="number">
                  {count(halfOpen.length)} of {count(nodes)}
                </td>
                <td class="long">{[...open, ...halfOpen].join(', ')}</td>
              </tr>
            ))}
          </Table>
          {opinions.length > SHOWN && (
            <p class="hint">
              {count(SHOWN)} of {count(opinions.length)} are shown: those that most nodes see open.
            </p>
          )}
        </>
      )}
    </Panel>
  )
}
