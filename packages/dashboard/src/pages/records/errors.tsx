import type { WireErrorRecord } from '../../api/types.js'
import { EmptyState, Json, numericHead, PageHead, StateLabel, Table, Time } from '../../components/basics.js'
import { ChoiceFilter, Filters, TextFilter } from '../../components/filters.js'
import { ListView, useList } from '../../components/list.js'
import { formatInline, formatName } from '../../format.js'
import { route, urlFor } from '../../route.js'

const options = (...names: string[]) => [
  ['', 'any'] as const,
  ...names.map((name) => [name, name.toLowerCase()] as const),
]

/** The page of error records, newest first. */
export function Errors() {
  const { severity, category, operation } = route.value.query
  const list = useList<WireErrorRecord>('/errors', { severity, category, operation }, 5000)
  return (
    <>
      <PageHead title="Errors" />
      <Filters label="Filter errors">
        <ChoiceFilter name="severity" label="Severity" options={options('WARNING', 'ERROR', 'CRITICAL')} />
        <ChoiceFilter
          name="category"
          label="Category"
          options={options('TRANSIENT', 'PERMANENT', 'CRITICAL')}
        />
        <TextFilter name="operation" label="Operation" />
      </Filters>
      <ListView
        of={list}
        empty={
          <EmptyState title="No errors">
            An error is recorded for each failed attempt and for each breaker that opens.
          </EmptyState>
        }
      >
        {(errors) => (
          <Table
            label="Errors"
            head={['Time', 'Severity', 'Operation', 'Kind', 'Message', numericHead('Retries'), 'Context']}
          >
            {errors.map((error) => (
              <tr>
                <td>
                  <Time at={error.timestamp} />
                </td>
                <td>
                  <StateLabel of={error.severity} />
                </td>
                <td>
                  {error.session_id == null ? (
                    formatInline(error.context['operation'])
                  ) : (
                    <a href={urlFor('/sessions', { id: error.session_id })}>
                      {formatInline(error.context['operation'])}
                    </a>
                  )}
                </td>
                <td>
                  {formatName(error.kind)}
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
      </ListView>
    </>
  )
}
