import { HOUR_MS, MINUTE_MS } from '@holdfast/records/constants'
/** A time range in epoch milliseconds. */
export interface TimeSpan {
  readonly from: number
  readonly to: number
}

/** The length of a step of the chart in milliseconds: an hour, or whole minutes for a short range, with at most sixty steps. */
export const stepLength = ({ from, to }: TimeSpan): number =>
  to - from > 6 * HOUR_MS ? HOUR_MS : Math.max(MINUTE_MS, Math.ceil((to - from) / 60 / MINUTE_MS) * MINUTE_MS)

/** The steps of a time range, aligned to their length. */
export function timeSteps(span: TimeSpan, step = stepLength(span)): TimeSpan[] {
  const first = Math.floor(span.from / step) * step
  const last = Math.max(first + step, Math.ceil(span.to / step) * step)
  return Array.from({ length: (last - first) / step }, (_, index) => ({
    from: first + index * step,
    to: first + (index + 1) * step,
  }))
}
