import type { WireBreaker } from '../../api/types.js'
import { Time } from '../../components/basics.js'
import { formatDuration, formatExactTime } from '../../format.js'
import { now } from '../../now.js'
import { zone } from '../../zone.js'
import { isOpenUntilReset } from './actions.js'

/** The time of the next probe of an open breaker, or of the last change. */
export function NextProbe({ breaker }: { breaker: WireBreaker }) {
  const { state, next_test_time, last_state_change } = breaker
  if (state === 'open' && next_test_time != null) {
    if (isOpenUntilReset(breaker)) return <span>until it is reset</span>
    const at = Date.parse(next_test_time)
    const left = (at - now.value) / 1000
    return (
      <span title={formatExactTime(at, zone.value)}>
        {left > 0 ? `in ${formatDuration(Math.ceil(left))}` : 'with the next call'}
      </span>
    )
  }
  return (
    <span>
      {state === 'half_open' && 'probing, '}changed <Time at={last_state_change} short />
    </span>
  )
}
