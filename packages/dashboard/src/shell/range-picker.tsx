import { useSignal } from '@preact/signals'
import { clock } from '../browser.js'
import { formatExactTime } from '../format.js'
import { RANGES, selectFixedRange, selectRange, timeRange } from '../time-range.js'
import { zone } from '../zone.js'

/** A time as the value of a `datetime-local` field, which has no zone: `2026-11-16T14:02:07`. */
const toFieldValue = (at: number): string => formatExactTime(at, zone.value).slice(0, 19).replace(' ', 'T')

const fromFieldValue = (text: string): number => Date.parse(zone.value === 'utc' ? `${text}Z` : text)

/** The picker of the time range of all pages. */
export function RangePicker() {
  const range = timeRange.value
  const isCustom = useSignal(false)
  const selected =
    isCustom.value || range.kind === 'fixed' ? 'custom' : range.kind === 'last' ? range.name : ''
  return (
    <>
      <select
        aria-label="Time range"
        value={selected}
        onChange={({ currentTarget: { value } }) => {
          isCustom.value = value === 'custom'
          if (value !== 'custom') selectRange(value === '' ? undefined : value)
        }}
      >
        {[['', 'All time'] as const, ...RANGES, ['custom', 'Since…'] as const].map(([name, text]) => (
          <option value={name} selected={name === selected}>
            {text}
          </option>
        ))}
      </select>
      {selected === 'custom' && (
        <input
          type="datetime-local"
          step={1}
          aria-label={`Since, ${zone.value === 'utc' ? 'UTC' : 'local time'}`}
          max={toFieldValue(clock.wall())}
          value={range.kind === 'fixed' ? toFieldValue(range.from) : ''}
          onChange={({ currentTarget: { value } }) => {
            const from = fromFieldValue(value)
            if (Number.isNaN(from)) return
            isCustom.value = false
            selectFixedRange(from)
          }}
        />
      )}
      {range.kind === 'fixed' && range.to !== undefined && (
        <span class="hint">to {formatExactTime(range.to, zone.value)}</span>
      )}
    </>
  )
}

/** The switch between UTC and local time. */
export function ZoneSwitch() {
  return (
    <div role="group" aria-label="Time zone">
      {(['utc', 'local'] as const).map((one) => (
        <button
          type="button"
          class="small secondary"
          aria-pressed={zone.value === one}
          onClick={() => {
            zone.value = one
          }}
        >
          {one === 'utc' ? 'UTC' : 'Local'}
        </button>
      ))}
    </div>
  )
}
