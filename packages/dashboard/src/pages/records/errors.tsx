import { ERROR_CATEGORIES, WRITTEN_SEVERITIES } from '@holdfast/records/constants'
import '../../style/policies.css'
import type { WireErrorRecord } from '../../api/types.js'
import { EmptyState, PageHead } from '../../components/basics.js'
import { CsvButton } from '../../components/data-table.js'
import { ChoiceFilter, Filters, TextFilter } from '../../components/filters.js'
import { ListView, useList } from '../../components/list.js'
import { route, urlFor } from '../../route.js'
import { rangeFilter } from '../../time-range.js'
import { ErrorGroupPage } from './error-group.js'
import { ErrorGroupList } from './error-groups.js'
import { ERROR_COLUMNS, ErrorTable } from './error-table.js'

const options = (...names: string[]) => [
  ['', 'any'] as const,
  ...names.map((name) => [name, name.toLowerCase()] as const),
]

/** The page of errors: grouped, one group, or all records. */
export function Errors() {
  const { group, view } = route.value.query
  if (group !== undefined) return <ErrorGroupPage key={group} id={group} />
  return (
    <>
      <PageHead title="Errors">
        <ViewSwitch view={view} />
      </PageHead>
      <Filters label="Filter errors">
        <ChoiceFilter name="severity" label="Severity" options={options(...WRITTEN_SEVERITIES)} />
        <ChoiceFilter name="category" label="Category" options={options(...ERROR_CATEGORIES)} />
        <TextFilter name="operation" label="Operation" />
        {view !== 'list' && <TextFilter name="kind" label="Kind" placeholder="rate_limited" />}
      </Filters>
      {view === 'list' ? <ErrorList /> : <ErrorGroupList />}
    </>
  )
}

/** The links between the groups and all records, which keep the filters. */
function ViewSwitch({ view }: { view: string | undefined }) {
  const { severity, category, operation } = route.value.query
  const filters = { severity, category, operation }
  return (
    <nav aria-label="View" class="view-switch">
      <a href={urlFor('/errors', filters)} aria-current={view === 'list' ? undefined : 'page'}>
        Grouped
      </a>
      <a
        href={urlFor('/errors', { ...filters, view: 'list' })}
        aria-current={view === 'list' ? 'page' : undefined}
      >
        All errors
      </a>
    </nav>
  )
}

/** All error records, newest first. */
function ErrorList() {
  const { severity, category, operation } = route.value.query
  const list = useList<WireErrorRecord>(
    '/errors',
    { severity, category, operation, ...rangeFilter.value },
    5000,
  )
  return (
    <ListView
      of={list}
      empty={
        <EmptyState title="No errors">
          An error is recorded for each failed attempt and for each breaker that opens.
        </EmptyState>
      }
    >
      {(errors) => (
        <>
          <ErrorTable errors={errors} />
          <p class="hint more">
            <CsvButton name="errors" columns={ERROR_COLUMNS} rows={errors} />
          </p>
        </>
      )}
    </ListView>
  )
}
