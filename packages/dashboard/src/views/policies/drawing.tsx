import { duration } from '../../format.js'
import type { Wait } from './schedule.js'

const WIDE = 480
const HIGH = 170
const LEFT = 64
const BOTTOM = 26

const total = (waits: readonly Wait[], key: 'base' | 'least' | 'most') =>
  waits.reduce((sum, wait) => sum + wait[key], 0)

/** The waits between attempts: a line for what is planned, a band for what chance makes of it. */
export function Drawing({ waits }: { waits: readonly Wait[] | undefined }) {
  if (waits === undefined) return <p class="hint">What is written so far makes no schedule.</p>
  if (waits.length === 0) return <p class="hint">One attempt, and no wait.</p>
  const top = Math.max(...waits.map(({ base, most }) => Math.max(base, most)), 0.001)
  const step = (WIDE - LEFT) / waits.length
  const y = (seconds: number) => 8 + (1 - seconds / top) * (HIGH - BOTTOM - 8)
  const label = waits
    .map(({ attempt, least, most }) => `before attempt ${attempt} ${duration(least)} to ${duration(most)}`)
    .join(', ')
  const spread = total(waits, 'least') !== total(waits, 'most')
  return (
    <figure class="drawing">
      <svg viewBox={`0 0 ${WIDE} ${HIGH}`} role="img" aria-label={`Waits: ${label}`}>
        {[0, 0.5, 1].map((share) => (
          <g>
            <line class="grid" x1={LEFT} x2={WIDE} y1={y(top * share)} y2={y(top * share)} />
            <text x={LEFT - 6} y={y(top * share) + 4} text-anchor="end">
              {duration(top * share)}
            </text>
          </g>
        ))}
        {waits.map(({ attempt, base, least, most }, index) => {
          const x = LEFT + index * step
          return (
            <g>
              <rect
                class="band"
                x={x + step * 0.12}
                width={step * 0.76}
                y={y(most)}
                height={Math.max(1, y(least) - y(most))}
              />
              <line class="base" x1={x + step * 0.08} x2={x + step * 0.92} y1={y(base)} y2={y(base)} />
              {(waits.length <= 12 || index % 2 === 0) && (
                <text x={x + step / 2} y={HIGH - 8} text-anchor="middle">
                  {attempt}
                </text>
              )}
            </g>
          )
        })}
      </svg>
      <figcaption class="hint">
        The wait before each attempt. Together {duration(total(waits, 'base'))}
        {spread && `, with chance ${duration(total(waits, 'least'))} to ${duration(total(waits, 'most'))}`}.
      </figcaption>
    </figure>
  )
}
