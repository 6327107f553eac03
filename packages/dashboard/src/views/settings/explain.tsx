import { get } from '../../api/call.js'
import { useLoad } from '../../api/load.js'
import type { Explanation } from '../../api/types.js'
import { duration, inline, words } from '../../format.js'
import { Panel, Show, Table } from '../../parts/basics.js'
import { Text } from '../../parts/filters.js'
import { address, route } from '../../route.js'
import { DURATIONS } from '../policies/fields.js'

/** A value with its unit; one that has parts, part by part. */
function valueOf(name: string, value: unknown): string {
  if (DURATIONS.has(name) && typeof value === 'number') return duration(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return inline(value)
  return Object.entries(value)
    .map(([part, inner]) => `${words(part)} ${valueOf(`${name}.${part}`, inner)}`)
    .join(', ')
}

function Explained({ operation }: { operation: string }) {
  const loaded = useLoad(operation, (signal) => get<Explanation>('/config/explain', { operation }, signal))
  return (
    <Show of={loaded}>
      {({ policies, notes, enabled }) => (
        <>
          {!enabled && <p class="hint">It is switched off: calls go straight through.</p>}
          {notes.map((note) => (
            <p class="hint note">{note}</p>
          ))}
          {policies.map(({ kind, policy_id, values, breaker }) => (
            <details key={kind} open={policies.length === 1}>
              <summary>
                {kind === 'default' ? 'Every failure' : `Failures of the kind ${words(kind)}`}: policy{' '}
                {policy_id}
                {breaker != null && `, breaker ${breaker}`}
              </summary>
              <p>
                <a href={address('/policies', { id: policy_id })}>Open the policy</a>
              </p>
              <Table label={`Values of ${policy_id}`} head={['Field', 'Value', 'From']}>
                {Object.entries(values).map(([name, { value, origin, where }]) => (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td>{valueOf(name, value)}</td>
                    <td>
                      <span title={where ?? undefined}>
                        {words(origin)}
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
    </Show>
  )
}

/** What applies to an operation, and where each value comes from. */
export function Explain() {
  const { operation } = route.value.query
  return (
    <Panel title="What applies to an operation" class="wide">
      <form class="filters" aria-label="Explain an operation" onSubmit={(submit) => submit.preventDefault()}>
        <Text name="operation" label="Operation" placeholder="browser.navigation" />
      </form>
      {operation === undefined ? (
        <p class="hint">Write the name of an operation, as in hf.run(…).</p>
      ) : (
        <Explained key={operation} operation={operation} />
      )}
    </Panel>
  )
}
