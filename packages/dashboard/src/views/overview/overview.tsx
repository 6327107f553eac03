import type { ComponentChildren } from 'preact'
import { get } from '../../api/call.js'
import { useLoad } from '../../api/load.js'
import type { Breaker, DeadLetterStats, Page, Session, Summary, Window } from '../../api/types.js'
import { count, duration, percent, words } from '../../format.js'
import { clock } from '../../page.js'
import { Bars, Empty, Head, Panel, Problem } from '../../parts/basics.js'
import { Live } from './live.js'
import { Traffic } from './traffic.js'

const DAY = 86_400_000

async function load(signal: AbortSignal) {
  const to = clock.wall()
  const range = { from: new Date(to - DAY).toISOString(), to: new Date(to).toISOString() }
  const [counted, summary, letters, open, active] = await Promise.all([
    get<Window>('/metrics/window', range, signal),
    get<Summary>('/metrics/retries', {}, signal),
    get<DeadLetterStats>('/dead-letters/stats', {}, signal),
    get<{ circuit_breakers: Breaker[]; cursor?: string }>(
      '/circuit-breakers',
      { state: 'open', limit: '1000' },
      signal,
    ),
    get<Page<Session>>('/sessions', { active: 'true', limit: '1000' }, signal),
  ])
  return { counted, summary, letters, open, active }
}

function Tile(props: { name: string; value: string; note: ComponentChildren; href?: string; tone?: string }) {
  return (
    <li class={`tile ${props.tone ?? ''}`}>
      <span class="tile-name">
        {props.href === undefined ? props.name : <a href={props.href}>{props.name}</a>}
      </span>
      <span class="tile-value">{props.value}</span>
      <span class="tile-note">{props.note}</span>
    </li>
  )
}

function Tiles({ data }: { data: Awaited<ReturnType<typeof load>> }) {
  const { counted, summary, letters, open, active } = data
  const saved = Object.entries(summary.success_by_attempt).reduce(
    (total, [attempt, times]) => (attempt === '1' ? total : total + times),
    0,
  )
  const calls = counted.total_sessions
  const waiting = letters.by_status.pending + letters.by_status.failed
  const opened = open.circuit_breakers.length
  return (
    <ul class="tiles">
      <Tile
        name="Calls"
        value={count(calls)}
        note={calls === 0 ? 'in 24 h' : `in 24 h, ${percent(counted.successful_sessions / calls)} succeeded`}
      />
      <Tile name="Retries" value={count(summary.total_retries)} note={`in ${summary.retention_hours} h`} />
      <Tile
        name="Success after retry"
        value={count(saved)}
        note="calls saved, that failed first"
        tone={saved > 0 ? 'good' : ''}
      />
      <Tile
        name="Dead letters"
        href="/dead-letters"
        value={count(waiting)}
        note={`${count(letters.by_status.completed)} replayed`}
        tone={waiting > 0 ? 'warn' : ''}
      />
      <Tile
        name="Open breakers"
        href="/breakers?state=open"
        value={`${count(opened)}${open.cursor === undefined ? '' : '+'}`}
        note={opened === 0 ? 'all let calls through' : 'refusing calls now'}
        tone={opened > 0 ? 'bad' : ''}
      />
      <Tile
        name="Retrying now"
        href="/sessions?active=true"
        value={`${count(active.items.length)}${active.cursor === undefined ? '' : '+'}`}
        note={`95 % of calls end in ${duration(counted.latency.p95)}`}
      />
    </ul>
  )
}

/** What stands where the numbers will, so that nothing jumps when they come. */
const Blanks = () => (
  <ul class="tiles blank">
    {['Calls', 'Retries', 'Success after retry', 'Dead letters', 'Open breakers', 'Retrying now'].map(
      (name) => (
        <Tile key={name} name={name} value="–" note={'\u00a0'} />
      ),
    )}
  </ul>
)

/** How everything stands, at a glance. */
export function Overview() {
  const loaded = useLoad('overview', load, 5000)
  return (
    <>
      <Head title="Overview" />
      {loaded.error !== undefined && <Problem error={loaded.error} />}
      {loaded.data === undefined ? <Blanks /> : <Tiles data={loaded.data} />}
      <div class="panels">
        <Traffic />
        <Spread data={loaded.data} />
        <Live />
      </div>
    </>
  )
}

function Spread({ data }: { data: Awaited<ReturnType<typeof load>> | undefined }) {
  const attempts = Object.entries(data?.summary.success_by_attempt ?? {}).filter(([, times]) => times > 0)
  const kinds = Object.entries(data?.counted.failure_by_reason ?? {}).toSorted((a, b) => b[1] - a[1])
  return (
    <>
      <Panel title="Success by attempt" class="spread">
        {data === undefined ? null : attempts.length === 0 ? (
          <Empty title="Nothing has succeeded yet" />
        ) : (
          <Bars
            label="Calls by the attempt that succeeded"
            values={attempts.map(([attempt, times]) => [`Attempt ${attempt}`, times])}
            show={count}
          />
        )}
      </Panel>
      <Panel title="Failures by kind" class="spread">
        {data === undefined ? null : kinds.length === 0 ? (
          <Empty title="No failures in 24 h" />
        ) : (
          <Bars
            label="Calls that failed, by kind"
            values={kinds.slice(0, 8).map(([kind, times]) => [words(kind), times])}
            show={count}
          />
        )}
      </Panel>
    </>
  )
}
