import { getJson } from '../../api/client.js'
import type { WireFleet, WireNode } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import {
  EmptyState,
  numericHead,
  PageHead,
  Panel,
  QueryView,
  StateLabel,
  Table,
  Time,
} from '../../components/basics.js'
import { useEvents } from '../../events/event-stream.js'
import { formatCount, formatPlural } from '../../format.js'
import { urlFor } from '../../route.js'
import { type BreakerOpinion, groupOpinions } from './opinions.js'

/** The maximum number of listed breakers. */
const MAX_BREAKERS_SHOWN = 200

const countOpinions = ({ opinions }: WireNode, state: string): number =>
  Object.values(opinions).filter((one) => one === state).length

/** The page of the fleet: its processes and the states of their breakers. */
export function Nodes() {
  const loaded = useQuery('nodes', (signal) => getJson<WireFleet>('/nodes', {}, signal), 5000)
  useEvents((events) => {
    if (events.some(({ event_type }) => /^(node|shared_state|circuit_breaker)_/.test(event_type)))
      loaded.reload()
  })
  return (
    <>
      <PageHead title="Nodes" />
      <QueryView of={loaded}>
        {({ items, shared }) => (
          <>
            <Panel title={formatPlural(items.length, 'node', 'nodes')} actions={<Versions nodes={items} />}>
              <Table
                label="Nodes"
                head={[
                  'Node',
                  'Heartbeat',
                  'Version',
                  'Started',
                  numericHead('Open'),
                  numericHead('Half open'),
                ]}
              >
                {items.map((node) => (
                  <tr key={node.id}>
                    <th scope="row">
                      {node.id}
                      {node.self && <span class="hint"> this node</span>}
                    </th>
                    <td>
                      <Time at={node.last_seen} />
                    </td>
                    <td>{node.version}</td>
                    <td>
                      <Time at={node.started_at} />
                    </td>
                    <td class="number">{formatCount(countOpinions(node, 'open'))}</td>
                    <td class="number">{formatCount(countOpinions(node, 'half_open'))}</td>
                  </tr>
                ))}
              </Table>
              {shared === undefined && (
                <p class="hint">
                  This process does not share state. With <code>shared: redis://…</code> in the config file,
                  all processes with the same Redis share the states of breakers and are listed here.
                </p>
              )}
            </Panel>
            <Opinions opinions={groupOpinions(items)} nodes={items.length} />
          </>
        )}
      </QueryView>
    </>
  )
}

function Versions({ nodes }: { nodes: readonly WireNode[] }) {
  const versions = [...new Set(nodes.map(({ version }) => version))].toSorted()
  return versions.length < 2 ? null : <span class="hint">Versions differ: {versions.join(', ')}</span>
}

function Opinions({ opinions, nodes }: { opinions: readonly BreakerOpinion[]; nodes: number }) {
  return (
    <Panel title="Breaker state by node">
      {opinions.length === 0 ? (
        <EmptyState title="All breakers are closed on all nodes">
          A breaker that is open or half open on a node is listed here.
        </EmptyState>
      ) : (
        <>
          <Table
            label="Breaker state by node"
            head={[
              'Breaker',
              <span class="number">
                <StateLabel of="open" />
              </span>,
              <span class="number">
                <StateLabel of="half_open" />
              </span>,
              'Nodes',
            ]}
          >
            {opinions.slice(0, MAX_BREAKERS_SHOWN).map(({ breaker, open, halfOpen }) => (
              <tr key={breaker}>
                <th scope="row">
                  <a href={urlFor('/breakers', { id: breaker })}>{breaker}</a>
                </th>
                <td class="number">
                  {formatCount(open.length)} of {formatCount(nodes)}
                </td>
                <td class="number">
                  {formatCount(halfOpen.length)} of {formatCount(nodes)}
                </td>
                <td class="long">{[...open, ...halfOpen].join(', ')}</td>
              </tr>
            ))}
          </Table>
          {opinions.length > MAX_BREAKERS_SHOWN && (
            <p class="hint">
              {formatCount(MAX_BREAKERS_SHOWN)} of {formatCount(opinions.length)} shown: those that are open
              on most nodes.
            </p>
          )}
        </>
      )}
    </Panel>
  )
}
