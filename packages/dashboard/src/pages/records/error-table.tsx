import type { WireErrorRecord } from '../../api/types.js'
import { CopyButton, Id, Json, numericHead, StateLabel, Table, Time } from '../../components/basics.js'
import type { Column } from '../../components/data-table.js'
import { formatInline, formatName } from '../../format.js'
import { urlFor } from '../../route.js'

const operationOf = (error: WireErrorRecord): string => formatInline(error.context['operation'])

/** The columns of the CSV file of error records. */
export const ERROR_COLUMNS: readonly Column<WireErrorRecord>[] = [
  { key: 'timestamp', title: 'Time', value: ({ timestamp }) => timestamp },
  { key: 'severity', title: 'Severity', value: ({ severity }) => severity },
  { key: 'category', title: 'Category', value: ({ category }) => category },
  { key: 'operation', title: 'Operation', value: operationOf },
  { key: 'kind', title: 'Kind', value: ({ kind }) => kind },
  { key: 'error_type', title: 'Error type', value: ({ error_type }) => error_type },
  { key: 'message', title: 'Message', value: ({ message }) => message },
  { key: 'http_status', title: 'HTTP status', value: ({ http_status }) => http_status },
  { key: 'retry_count', title: 'Retries', value: ({ retry_count }) => retry_count },
  { key: 'session_id', title: 'Session ID', value: ({ session_id }) => session_id },
]

/** The text of an error, with its HTTP status where the message does not contain it. */
function formatErrorText({ error_type, message, http_status }: WireErrorRecord): string {
  const status = http_status == null || message.includes(String(http_status)) ? '' : ` (${http_status})`
  return `${error_type}: ${message}${status}`
}

/** Error records with links to their sessions. */
export function ErrorTable({ errors }: { errors: readonly WireErrorRecord[] }) {
  return (
    <Table
      label="Errors"
      head={[
        'Time',
        'Severity',
        'Operation',
        'Kind',
        'Message',
        numericHead('Retries'),
        'Session',
        'Context',
      ]}
    >
      {errors.map((error, index) => (
        <tr key={`${error.timestamp} ${error.session_id} ${index}`}>
          <td>
            <Time at={error.timestamp} />
          </td>
          <td>
            <StateLabel of={error.severity} />
          </td>
          <td>
            <a href={urlFor('/errors', { operation: operationOf(error) })}>{operationOf(error)}</a>
          </td>
          <td>
            {formatName(error.kind)}
            <div class="hint">{error.category.toLowerCase()}</div>
          </td>
          <td class="long">
            {formatErrorText(error)} <CopyButton text={formatErrorText(error)} label="error" />
          </td>
          <td class="number">{error.retry_count}</td>
          <td>
            {error.session_id != null && (
              <Id
                value={error.session_id}
                label="session ID"
                length={16}
                href={urlFor('/sessions', { id: error.session_id })}
              />
            )}
          </td>
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
  )
}
