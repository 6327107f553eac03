import { AUDIT_ACTIONS } from '@holdfast/records/constants'
import type { WireAudit as AuditRecord } from '../../api/types.js'
import { EmptyState, PageHead } from '../../components/basics.js'
import { type Column, CsvButton } from '../../components/data-table.js'
import { ChoiceFilter, Filters, TextFilter } from '../../components/filters.js'
import { ListView, useList } from '../../components/list.js'
import { route } from '../../route.js'
import { rangeFilter } from '../../time-range.js'
import { AuditTable } from './audit-table.js'

const ACTIONS = [['', 'any'], ...AUDIT_ACTIONS.map((action) => [action, action] as const)] as const

const formatSide = (value: unknown): string | undefined => (value == null ? undefined : JSON.stringify(value))

/** The columns of the CSV file. */
const AUDIT_COLUMNS: readonly Column<AuditRecord>[] = [
  { key: 'timestamp', title: 'Time', value: ({ timestamp }) => timestamp },
  { key: 'actor', title: 'Actor', value: ({ actor }) => actor },
  { key: 'action', title: 'Action', value: ({ action }) => action },
  { key: 'target', title: 'Target', value: ({ target }) => target },
  { key: 'reason', title: 'Reason', value: ({ reason }) => reason },
  { key: 'before', title: 'Before', value: ({ before }) => formatSide(before) },
  { key: 'after', title: 'After', value: ({ after }) => formatSide(after) },
]

/** The page of the audit trail. */
export function Audit() {
  const { actor, action, target } = route.value.query
  const list = useList<AuditRecord>('/audit', { actor, action, target, ...rangeFilter.value }, 5000)
  return (
    <>
      <PageHead title="Audit" />
      <Filters label="Filter audit records">
        <TextFilter name="actor" label="Actor" />
        <ChoiceFilter name="action" label="Action" options={ACTIONS} />
        <TextFilter name="target" label="Target" />
      </Filters>
      <ListView
        of={list}
        empty={
          <EmptyState title="No audit records">
            Every change through the dashboard, the API and the command line is recorded here.
          </EmptyState>
        }
      >
        {(records) => (
          <>
            <AuditTable records={records} />
            <p class="hint more">
              <CsvButton name="audit" columns={AUDIT_COLUMNS} rows={records} />
            </p>
          </>
        )}
      </ListView>
    </>
  )
}
