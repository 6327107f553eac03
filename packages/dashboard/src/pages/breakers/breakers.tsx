import { useComputed, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { WireBreaker } from '../../api/types.js'
import { matchMedia } from '../../browser.js'
import { EmptyState, ErrorMessage, PageHead } from '../../components/basics.js'
import { VirtualRows } from '../../components/virtual-rows.js'
import { formatCount } from '../../format.js'
import { route, updateQuery } from '../../route.js'
import { BreakerPage } from './breaker.js'
import { BreakerHead, BreakerRow } from './row.js'
import { breakerStore, loadError, useBreakers } from './store.js'

/** Breakers that are not closed are listed first. */
const STATE_RANK: Record<WireBreaker['state'], number> = { open: 0, half_open: 1, closed: 2 }
const STATES = Object.keys(STATE_RANK)

/** Filters breakers by state and id, and sorts them by state and id. */
function filterBreakers(
  list: readonly WireBreaker[],
  state: string | undefined,
  text: string,
): WireBreaker[] {
  const search = text.trim().toLowerCase()
  return list
    .filter(
      (breaker) =>
        (state === undefined || breaker.state === state) && breaker.id.toLowerCase().includes(search),
    )
    .toSorted((a, b) => STATE_RANK[a.state] - STATE_RANK[b.state] || (a.id < b.id ? -1 : 1))
}

const filterKey = (state: string | undefined, text: string): string => JSON.stringify([state, text])

/** The heights of a row in pixels, as in the style sheet: three lines, two or one. */
const ROW_HEIGHTS = [
  [matchMedia.call(globalThis, '(max-width: 520px)'), 112],
  [matchMedia.call(globalThis, '(max-width: 700px)'), 80],
] as const
const currentRowHeight = (): number => ROW_HEIGHTS.find(([query]) => query.matches)?.[1] ?? 46

function useRowHeight(): number {
  const height = useSignal(currentRowHeight())
  useEffect(() => {
    const updateHeight = () => {
      height.value = currentRowHeight()
    }
    for (const [query] of ROW_HEIGHTS) query.addEventListener('change', updateHeight)
    return () => {
      for (const [query] of ROW_HEIGHTS) query.removeEventListener('change', updateHeight)
    }
  }, [])
  return height.value
}

const NO_CHANGES: readonly never[] = []

/** The rows that a user points at: their order is kept, also where breakers change their state. */
interface HeldRows {
  readonly ids: readonly string[]
  /** The filter under which they were listed; another filter lists other rows. */
  readonly filter: string
}

/** The current states of held rows, in the order in which they were held. Breakers that no longer exist are left out. */
function listHeld({ ids }: HeldRows, list: readonly WireBreaker[]): WireBreaker[] {
  const byId = new Map(list.map((breaker) => [breaker.id, breaker]))
  return ids.map((id) => byId.get(id)).filter((breaker) => breaker !== undefined)
}

/** The page of breakers, or of one breaker. */
export function Breakers() {
  const { id } = route.value.query
  return id === undefined ? <BreakerList /> : <BreakerPage key={id} id={id} />
}

/** All breakers: states, recent changes, reset and trip. */
function BreakerList() {
  useBreakers()
  const height = useRowHeight()
  const held = useSignal<HeldRows | undefined>(undefined)
  const selected = useComputed(() => {
    const list = breakerStore.value?.list ?? []
    const { state, q = '' } = route.value.query
    return held.value?.filter === filterKey(state, q)
      ? listHeld(held.value, list)
      : filterBreakers(list, state, q)
  })
  const holdRows = (): void => {
    const { state, q = '' } = route.peek().query
    held.value = { ids: selected.peek().map(({ id }) => id), filter: filterKey(state, q) }
  }
  const { state, q = '' } = route.value.query
  const all = breakerStore.value
  const countIn = (counted: string) => all?.list.filter((breaker) => breaker.state === counted).length ?? 0
  return (
    <>
      <PageHead title="Breakers" />
      {loadError.value !== undefined && <ErrorMessage error={loadError.value} />}
      <form class="filters" aria-label="Filter breakers" onSubmit={(submit) => submit.preventDefault()}>
        <label>
          Filter by ID
          <input
            type="search"
            placeholder="part of an id"
            value={q}
            onInput={(input) => updateQuery({ q: input.currentTarget.value }, { isTyping: true })}
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
                : `${one.replace('_', ' ')} ${formatCount(countIn(one))}`}
            </button>
          ))}
        </div>
      </form>
      {all === undefined && loadError.value === undefined && <p aria-busy="true">Loading…</p>}
      {all !== undefined && all.list.length === 0 && (
        <EmptyState title="No breakers yet">
          Add one under <code>circuit_breakers</code> in the config file, or set{' '}
          <code>enable_circuit_breaker: true</code> in a policy. Each pool member has its own breaker.
        </EmptyState>
      )}
      {all !== undefined && all.list.length > 0 && selected.value.length === 0 && (
        <EmptyState title="No matching breakers">
          <button type="button" class="link" onClick={() => updateQuery({ state: undefined, q: undefined })}>
            Show all {formatCount(all.list.length)}
          </button>
        </EmptyState>
      )}
      {all !== undefined && selected.value.length > 0 && (
        <div
          onPointerEnter={holdRows}
          onPointerLeave={() => {
            held.value = undefined
          }}
        >
          <VirtualRows
            head={<BreakerHead />}
            label={`${formatCount(selected.value.length)} breakers`}
            items={selected.value}
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
        </div>
      )}
    </>
  )
}
