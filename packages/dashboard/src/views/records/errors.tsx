import type { ErrorRecord } from '../../api/types.js'
import { inline, words } from '../../format.js'
import { Empty, Head, Json, number, State, Table, Time } from '../../parts/basics.js'
import { Choice, Filters, Text } from '../../parts/filters.js'
import { List, useList } from '../../parts/list.js'
import { address, route } from '../../route.js'

const options = (...names: string[]) => [
  ['', 'any'] as const,
  ...names.map((name) => [name, name.toLowerCase()] as const),
]

/** Failed attempts and openings of breakers, newest first. */
export function Errors() {
  const { severity, category, operation } = route.value.query
  const list = useList<ErrorRecord>('/errors', { severity, category, operation }, 5000)
  return (
    <>
      <Head title="Errors" />
      <Filters label="Choose errors">
        <Choice name="severity" label="Severity" options={options('WARNING', 'ERROR', 'CRITICAL')} />
        <Choice name="category" label="Category" options={options('TRANSIENT', 'PERMANENT', 'CRITICAL')} />
        <Text name="operation" label="Operation" />
      </Filters>
      <List
        of={list}
        empty={
          <Empty title="No errors here">
            One is recorded for each failed attempt, and for each breaker that opens.
          </Empty>
        }
      >
        {(errors) => (
          <Table
            label="Errors"
            head={['When', 'Severity', 'Operation', 'Kind', 'Message', number('Retries'), 'Context']}
          >
            {errors.map((error) => (
              <tr>
                <td>
                  <Time at={error.timestamp} />
                </td>
                <td>
                  <State of={error.severity} />
                </td>
                <td>
                  {error.session_id == null ? (
                    inline(error.context['operation'])
                  ) : (
                    <a href={address('/sessions', { id: error.session_id })}>
                      {inline(error.context['operation'])}
                    </a>
                  )}
                </td>
                <td>
                  {words(error.kind)}
                  <div class="hint">{error.category.toLowerCase()}</div>
                </td>
                <td class="long">
                  {error.error_type}: {error.message}
                  {error.http_status != null &&
                    !error.message.includes(String(error.http_status)) &&
                    ` (${error.http_status})`}
                </td>
                <td class="number">{error.retry_count}</td>
                <td>
                  <details>
                    <summary>Show</summary>
                    <Json
                      value={{ ...error.context, stack_trace: error.stack_trace ?? undefined }}
                      label="Context"
                    />
                  </details>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </List>
    </>
  )
}
