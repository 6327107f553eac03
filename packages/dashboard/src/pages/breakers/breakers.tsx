import { useComputed, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { WireBreaker } from '../../api/types.js'
import { matchMedia } from '../../browser.js'
import { EmptyState, ErrorMessage, PageHead } from '../../components/basics.js'
import { VirtualRows } from '../../components/virtual-rows.js'
import { formatCount } from '../../format.js'
import { route, updateQuery } from '../../route.js'
import { BreakerHead, BreakerRow } from './row.js'
import { breakerStore, loadError, useBreakers } from './store.js'

const STATES = ['open', 'half_open', 'closed'] as const

/** Those that need a look come first. */
const STATE_RANK: Record<WireBreaker['state'], number> = { open: 0, half_open: 1, closed: 2 }

/** Breakers that a reader asks for: those that refuse first, then by id. */
function filterBreakers(
  list: readonly WireBreaker[],
  state: string | undefined,
  text: string,
): WireBreaker[] {
  const wanted = text.trim().toLowerCase()
  return list
    .filter(
      (breaker) =>
        (state === undefined || breaker.state === state) && breaker.id.toLowerCase().includes(wanted),
    )
    .toSorted((a, b) => STATE_RANK[a.state] - STATE_RANK[b.state] || (a.id < b.id ? -1 : 1))
}

/** How high a row is (px), as the style sheet lays it out: in three lines, two or one. */
const ROW_HEIGHTS = [
  [matchMedia.call(globalThis, '(max-width: 520px)'), 112],
  [matchMedia.call(globalThis, '(max-width: 800px)'), 80],
] as const
const currentRowHeight = (): number => ROW_HEIGHTS.find(([query]) => query.matches)?.[1] ?? 46

function useRowHeight(): number {
  const height = useSignal(currentRowHeight())
  useEffect(() => {
    const follow = () => {
      height.value = currentRowHeight()
    }
    for (const [query] of ROW_HEIGHTS) query.addEventListener('change', follow)
    return () => {
      for (const [query] of ROW_HEIGHTS) query.removeEventListener('change', follow)
    }
  }, [])
  return height.value
}

const NO_CHANGES: readonly never[] = []

/** Every breaker: how it stands, how it came there, and putting it right. */
export function Breakers() {
  useBreakers()
  const height = useRowHeight()
  const chosen = useComputed(() =>
    filterBreakers(breakerStore.value?.list ?? [], route.value.query['state'], route.value.query['q'] ?? ''),
  )
  const { state, q = '' } = route.value.query
  const all = breakerStore.value
  const tally = (of: string) => all?.list.filter((breaker) => breaker.state === of).length ?? 0
  return (
    <>
      <PageHead title="Breakers" />
      {loadError.value !== undefined && <ErrorMessage error={loadError.value} />}
      <form class="filters" aria-label="Choose breakers" onSubmit={(submit) => submit.preventDefault()}>
        <label>
          Search
          <input
            type="search"
            placeholder="part of an id"
            value={q}
            onInput={(input) => updateQuery({ q: input.currentTarget.value })}
          />
        </label>
        <div role="group" aria-label="State">
          {[undefined, ...STATES].map((one) => (
            <button
              type="button"
              class="small secondary"
              aria-pressed={state === one}
              onClick={() => updateQuery({ state: one })}
            >
              {one === undefined
                ? `All ${formatCount(all?.list.length ?? 0)}`
                : `${one.replace('_', ' ')} ${formatCount(tally(one))}`}
            </button>
          ))}
        </div>
      </form>
      {all === undefined && loadError.value === undefined && <p aria-busy="true">Loading…</p>}
      {all !== undefined && all.list.length === 0 && (
        <EmptyState title="There are no breakers yet">
          Name one under <code>circuit_breakers</code> in the file, or say{' '}
          <code>enable_circuit_breaker: true</code> in a policy. Each member of a pool has one of its own.
        </EmptyState>
      )}
      {all !== undefined && all.list.length > 0 && chosen.value.length === 0 && (
        <EmptyState title="No breaker fits">
          <button type="button" class="link" onClick={() => updateQuery({ state: undefined, q: undefined })}>
            Show all {formatCount(all.list.length)}
          </button>
        </EmptyState>
      )}
      {all !== undefined && chosen.value.length > 0 && (
        <VirtualRows
          head={<BreakerHead />}
          label={`${formatCount(chosen.value.length)} breakers`}
          items={chosen.value}
          height={height}
          keyOf={({ id }) => id}
        >
          {(breaker) => (
            <BreakerRow
              breaker={breaker}
              changes={all.changes.get(breaker.id) ?? NO_CHANGES}
              since={all.since}
              begun={all.begun}
            />
          )}
        </VirtualRows>
      )}
    </>
  )
}
