import { useSignal } from '@preact/signals'
import { pages } from '../../api/call.js'
import { useLoad } from '../../api/load.js'
import { may } from '../../api/role.js'
import type { Policy } from '../../api/types.js'
import { useEvents } from '../../feed/feed.js'
import { duration } from '../../format.js'
import { Head, None, number, Show, State, Table } from '../../parts/basics.js'
import { address, go, route } from '../../route.js'
import { Editor } from './editor.js'

/** The rules: how often, how long and when not. */
export function Policies() {
  const { id, fresh } = route.value.query
  return id === undefined ? <All /> : <Editor key={`${id} ${fresh}`} id={id} fresh={fresh === 'true'} />
}

async function load(signal: AbortSignal): Promise<Policy[]> {
  const all: Policy[] = []
  for await (const page of pages<Policy>('/policies', {}, 'items', signal)) all.push(...page)
  return all
}

/** A time that is not broken between its number and its unit. */
const whole = (seconds: number): string => duration(seconds).replaceAll(' ', '\u00a0')

const waits = ({ backoff_type, base_delay, max_delay }: Policy): string =>
  backoff_type === 'immediate'
    ? 'immediate'
    : `${backoff_type}, ${whole(base_delay)}${backoff_type === 'fixed' ? '' : ` to ${whole(max_delay)}`}`

function deadlines({ attempt_timeout, total_timeout }: Policy): string | undefined {
  const said = [
    ...(attempt_timeout == null ? [] : [`${whole(attempt_timeout)} an attempt`]),
    ...(total_timeout == null ? [] : [`${whole(total_timeout)} a call`]),
  ]
  return said.length === 0 ? undefined : said.join(', ')
}

function New() {
  const id = useSignal('')
  return (
    <form
      class="filters"
      aria-label="New policy"
      onSubmit={(submit) => {
        submit.preventDefault()
        if (id.value.trim() !== '') go(address('/policies', { id: id.value.trim(), fresh: 'true' }))
      }}
    >
      <label>
        Id of a new policy
        <input
          type="text"
          required
          autocomplete="off"
          value={id.value}
          onInput={(input) => {
            id.value = input.currentTarget.value
          }}
        />
      </label>
      <button type="submit" class="small">
        Make it
      </button>
    </form>
  )
}

function All() {
  const loaded = useLoad('policies', load)
  useEvents((events) => {
    if (events.some(({ event_type }) => event_type === 'config_reloaded')) loaded.reload()
  })
  return (
    <>
      <Head title="Policies" />
      {may('admin') && <New />}
      <Show of={loaded}>
        {(policies) => (
          <Table
            label="Policies"
            head={['Id', 'Name', number('Attempts'), 'Waits', 'Jitter', 'Deadlines', 'Breaker', 'State']}
          >
            {policies.map((policy) => (
              <tr key={policy.id}>
                <th scope="row">
                  <a href={address('/policies', { id: policy.id })}>{policy.id}</a>
                </th>
                <td>{policy.name}</td>
                <td class="number">{policy.max_attempts === 'Infinity' ? 'no end' : policy.max_attempts}</td>
                <td class="line-long">{waits(policy)}</td>
                <td>{policy.jitter_type}</td>
                <td class="line-long">{deadlines(policy) ?? <None />}</td>
                <td>{policy.circuit_breaker ?? (policy.enable_circuit_breaker ? 'its own' : <None />)}</td>
                <td>
                  <State of={policy.enabled ? (policy.shadow ? 'shadow' : 'enabled') : 'disabled'} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Show>
    </>
  )
}
