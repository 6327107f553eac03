import { useComputed, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Breaker } from '../../api/types.js'
import { count } from '../../format.js'
import { matchMedia } from '../../page.js'
import { Empty, Head, Problem } from '../../parts/basics.js'
import { Rows } from '../../parts/rows.js'
import { refine, route } from '../../route.js'
import { BreakerHead, BreakerRow } from './row.js'
import { held, trouble, useBreakers } from './store.js'

const STATES = ['open', 'half_open', 'closed'] as const

/** Those that need a look come first. */
const RANK: Record<Breaker['state'], number> = { open: 0, half_open: 1, closed: 2 }

/** Breakers that a reader asks for: those that refuse first, then by id. */
function choose(list: readonly Breaker[], state: string | undefined, text: string): Breaker[] {
  const wanted = text.trim().toLowerCase()
  return list
    .filter(
      (breaker) =>
        (state === undefined || breaker.state === state) && breaker.id.toLowerCase().includes(wanted),
    )
    .toSorted((a, b) => RANK[a.state] - RANK[b.state] || (a.id < b.id ? -1 : 1))
}

/** How high a row is (px), as the style sheet lays it out: in three lines, two or one. */
const HEIGHTS = [
  [matchMedia.call(globalThis, '(max-width: 520px)'), 112],
  [matchMedia.call(globalThis, '(max-width: 800px)'), 80],
] as const
const heightNow = (): number => HEIGHTS.find(([query]) => query.matches)?.[1] ?? 46

function useHeight(): number {
  const height = useSignal(heightNow())
  useEffect(() => {
    const follow = () => {
      height.value = heightNow()
    }
    for (const [query] of HEIGHTS) query.addEventListener('change', follow)
    return () => {
      for (const [query] of HEIGHTS) query.removeEventListener('change', follow)
    }
  }, [])
  return height.value
}

const NO_CHANGES: readonly never[] = []

/** Every breaker: how it stands, how it came there, and putting it right. */
export function Breakers() {
  useBreakers()
  const height = useHeight()
  const chosen = useComputed(() =>
    choose(held.value?.list ?? [], route.value.query['state'], route.value.query['q'] ?? ''),
  )
  const { state, q = '' } = route.value.query
  const all = held.value
  const tally = (of: string) => all?.list.filter((breaker) => breaker.state === of).length ?? 0
  return (
    <>
      <Head title="Breakers" />
      {trouble.value !== undefined && <Problem error={trouble.value} />}
      <form class="filters" aria-label="Choose breakers" onSubmit={(submit) => submit.preventDefault()}>
        <label>
          Search
          <input
            type="search"
            placeholder="part of an id"
            value={q}
            onInput={(input) => refine({ q: input.currentTarget.value })}
          />
        </label>
        <div role="group" aria-label="State">
          {[undefined, ...STATES].map((one) => (
            <button
              type="button"
              class="small secondary"
              aria-pressed={state === one}
              onClick={() => refine({ state: one })}
            >
              {one === undefined
                ? `All ${count(all?.list.length ?? 0)}`
                : `${one.replace('_', ' ')} ${count(tally(one))}`}
            </button>
          ))}
        </div>
      </form>
      {all === undefined && trouble.value === undefined && <p aria-busy="true">Loading…</p>}
      {all !== undefined && all.list.length === 0 && (
        <Empty title="There are no breakers yet">
          Name one under <code>circuit_breakers</code> in the file, or say{' '}
          <code>enable_circuit_breaker: true</code> in a policy. Each member of a pool has one of its own.
        </Empty>
      )}
      {all !== undefined && all.list.length > 0 && chosen.value.length === 0 && (
        <Empty title="No breaker fits">
          <button type="button" class="link" onClick={() => refine({ state: undefined, q: undefined })}>
            Show all {count(all.list.length)}
          </button>
        </Empty>
      )}
      {all !== undefined && chosen.value.length > 0 && (
        <Rows
          head={<BreakerHead />}
          label={`${count(chosen.value.length)} breakers`}
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
        </Rows>
      )}
    </>
  )
}
