import { getJson } from '../../api/client.js'
import type { WireExplanation } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { Panel, QueryView, Table } from '../../components/basics.js'
import { TextFilter } from '../../components/filters.js'
import { formatDuration, formatInline, formatName } from '../../format.js'
import { route, urlFor } from '../../route.js'
import { DURATIONS } from '../policies/fields.js'

/** A value with its unit; a nested object field by field. */
function formatExplainedValue(name: string, value: unknown): string {
  if (DURATIONS.has(name) && typeof value === 'number') return formatDuration(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return formatInline(value)
  return Object.entries(value)
    .map(([part, inner]) => `${formatName(part)} ${formatExplainedValue(`${name}.${part}`, inner)}`)
    .join(', ')
}

function ExplanationView({ operation }: { operation: string }) {
  const loaded = useQuery(operation, (signal) =>
    getJson<WireExplanation>('/config/explain', { operation }, signal),
  )
  return (
    <QueryView of={loaded}>
      {({ policies, notes, enabled }) => (
        <>
          {!enabled && <p class="hint">Disabled: calls run without retries and breakers.</p>}
          {notes.map((note) => (
            <p class="hint note">{note}</p>
          ))}
          {policies.map(({ kind, policy_id, values, breaker }) => (
            <details key={kind} open={policies.length === 1}>
              <summary>
                {kind === 'default' ? 'All other failures' : `Failures of the kind ${formatName(kind)}`}:
                policy {policy_id}
                {breaker != null && `, breaker ${breaker}`}
              </summary>
              <p>
                <a href={urlFor('/policies', { id: policy_id })}>Open the policy</a>
              </p>
              <Table label={`Values of ${policy_id}`} head={['Field', 'Value', 'Origin']}>
                {Object.entries(values).map(([name, { value, origin, where }]) => (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td>{formatExplainedValue(name, value)}</td>
                    <td>
                      <span title={where ?? undefined}>
                        {formatName(origin)}
                        {where != null && ` (${where.replace(/^.*[\\/]/, '')})`}
                      </span>
                    </td>
                  </tr>
                ))}
              </Table>
            </details>
          ))}
        </>
      )}
    </QueryView>
  )
}

/** Shows the effective values of an operation and their origins. */
export function ExplainForm() {
  const { operation } = route.value.query
  return (
    <Panel title="Effective policy of an operation" class="wide">
      <form class="filters" aria-label="Explain an operation" onSubmit={(submit) => submit.preventDefault()}>
        <TextFilter name="operation" label="Operation" placeholder="browser.navigation" />
      </form>
      {operation === undefined ? (
        <p class="hint">Enter the name of an operation, as in hf.run(…).</p>
      ) : (
        <ExplanationView key={operation} operation={operation} />
      )}
    </Panel>
  )
}
