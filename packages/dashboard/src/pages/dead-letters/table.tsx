import type { Signal } from '@preact/signals'
import type { WireDeadLetter } from '../../api/types.js'
import { Id, StateLabel, Table, Time } from '../../components/basics.js'
import { type Column, CsvButton } from '../../components/data-table.js'
import { urlFor } from '../../route.js'

/** The error of the last replay, else that of the call. */
export const latestError = ({ error_details }: WireDeadLetter) =>
  error_details.history?.at(-1) ?? error_details

/** The columns of the CSV file. Payloads are in the export as JSON Lines. */
const CSV_COLUMNS: readonly Column<WireDeadLetter>[] = [
  { key: 'dlq_id', title: '', value: ({ dlq_id }) => dlq_id },
  { key: 'item_id', title: '', value: ({ item_id }) => item_id },
  { key: 'operation', title: '', value: ({ operation_type }) => operation_type },
  { key: 'status', title: '', value: ({ status }) => status },
  { key: 'error', title: '', value: (entry) => latestError(entry).error_message },
  { key: 'created_at', title: '', value: ({ created_at }) => created_at },
]

/** The selected ids. Only the checkboxes and the buttons follow it, so that the rows are not rendered again. */
type SelectedIds = Signal<ReadonlySet<string>>

function SelectAll({ entries, selection }: { entries: readonly WireDeadLetter[]; selection: SelectedIds }) {
  return (
    <input
      type="checkbox"
      aria-label="Select all rows"
      checked={entries.every(({ dlq_id }) => selection.value.has(dlq_id))}
      onChange={(change) => {
        selection.value = new Set(change.currentTarget.checked ? entries.map(({ dlq_id }) => dlq_id) : [])
      }}
    />
  )
}

function SelectOne({ id, label, selection }: { id: string; label: string; selection: SelectedIds }) {
  return (
    <input
      type="checkbox"
      aria-label={`Select ${label}`}
      checked={selection.value.has(id)}
      onChange={() => {
        const next = new Set(selection.peek())
        if (!next.delete(id)) next.add(id)
        selection.value = next
      }}
    />
  )
}

/** The dead letters of the list, with a checkbox for each. */
export function DeadLetterTable({
  entries,
  selection,
}: {
  entries: readonly WireDeadLetter[]
  selection: SelectedIds
}) {
  return (
    <>
      <Table
        label="Dead letters"
        head={[
          <SelectAll entries={entries} selection={selection} />,
          'Item',
          'Operation',
          'Status',
          'Error',
          'Created',
        ]}
      >
        {entries.map((entry) => (
          <tr key={entry.dlq_id}>
            <td>
              <SelectOne id={entry.dlq_id} label={entry.item_id} selection={selection} />
            </td>
            <td>
              <Id
                value={entry.item_id}
                label="item ID"
                href={urlFor('/dead-letters', { id: entry.dlq_id })}
              />
            </td>
            <td>{entry.operation_type}</td>
            <td>
              <StateLabel of={entry.status} />
              {entry.replay_requested_at != null && <div class="hint">replay requested</div>}
              {entry.edited_payload != null && <div class="hint">payload edited</div>}
            </td>
            <td class="long">{latestError(entry).error_message}</td>
            <td>
              <Time at={entry.created_at} />
            </td>
          </tr>
        ))}
      </Table>
      <p class="hint more">
        <CsvButton name="dead-letters" columns={CSV_COLUMNS} rows={entries} />
      </p>
    </>
  )
}
