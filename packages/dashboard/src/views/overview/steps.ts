/** A stretch of time in epoch milliseconds. */
export interface Span {
  readonly from: number
  readonly to: number
}

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

/** How long a step of the chart is (ms), so that it has at most sixty: an hour, or whole minutes below that. */
export const stepOf = ({ from, to }: Span): number =>
  to - from > 6 * HOUR ? HOUR : Math.max(MINUTE, Math.ceil((to - from) / 60 / MINUTE) * MINUTE)

/** The steps of a stretch of time, on whole minutes. */
export function stepsOf(span: Span): Span[] {
  const step = stepOf(span)
  const first = Math.floor(span.from / step) * step
  const last = Math.max(first + step, Math.ceil(span.to / step) * step)
  return Array.from({ length: (last - first) / step }, (_, index) => ({
    from: first + index * step,
    to: first + (index + 1) * step,
  }))
}
