import { getJson } from '../../api/client.js'
import type { WireBreaker } from '../../api/types.js'
import { StateLabel } from '../../components/basics.js'
import { truncateMiddle } from '../../format.js'
import { urlFor } from '../../route.js'

/** The states of the breakers that are not closed, by id. */
export type BreakerStates = ReadonlyMap<string, WireBreaker['state']>

/** Loads the breakers that are not closed, at most 1,000 of each state. */
export async function loadBreakerStates(signal: AbortSignal): Promise<BreakerStates> {
  const load = async (state: string) =>
    getJson<{ circuit_breakers: WireBreaker[] }>('/circuit-breakers', { state, limit: '1000' }, signal)
  const [open, halfOpen] = await Promise.all([load('open'), load('half_open')])
  return new Map([...open.circuit_breakers, ...halfOpen.circuit_breakers].map(({ id, state }) => [id, state]))
}

/** Whether an entry names all breakers of a pool, `pool:POOL`, and not one breaker. */
const isPool = (breaker: string): boolean => /^pool:[^:]*$/.test(breaker)

/** The worst state of a breaker, or of the breakers of a pool's members. */
function stateOf(breaker: string, states: BreakerStates): WireBreaker['state'] {
  if (!isPool(breaker)) return states.get(breaker) ?? 'closed'
  const found = [...states].filter(([id]) => id.startsWith(`${breaker}:`)).map(([, state]) => state)
  return found.includes('open') ? 'open' : found.includes('half_open') ? 'half_open' : 'closed'
}

/** How many breakers of a pool's members are not closed. */
const countOf = (breaker: string, states: BreakerStates): number =>
  [...states.keys()].filter((id) => id.startsWith(`${breaker}:`)).length

/** The page of a breaker, or the list of the breakers of a pool. */
const linkTo = (breaker: string): string =>
  isPool(breaker) ? urlFor('/breakers', { q: `${breaker}:` }) : urlFor('/breakers', { id: breaker })

/** The breakers of an operation with their states, as links. */
export function OperationBreakers({
  breakers,
  states,
}: {
  breakers: readonly string[]
  states: BreakerStates
}) {
  if (breakers.length === 0) return <span class="none">–</span>
  return (
    <ul class="breaker-links">
      {breakers.map((breaker) => (
        <li key={breaker}>
          <StateLabel of={stateOf(breaker, states)} />{' '}
          <a
            href={linkTo(breaker)}
            title={
              isPool(breaker) ? `${countOf(breaker, states)} breakers of ${breaker} are not closed` : breaker
            }
          >
            {truncateMiddle(breaker, 28)}
          </a>
        </li>
      ))}
    </ul>
  )
}
