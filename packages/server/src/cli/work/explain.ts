import { encodeExplanation } from '@holdfast/runtime'
import { explain as explained } from '@holdfast/runtime/config'
import { type Context, serverOf } from '../context.js'
import { type ChartedWait, chart } from '../output/chart.js'
import { printJson } from '../output/print.js'
import { table } from '../output/table.js'
import { paint, shown, span } from '../output/text.js'
import { ask, withApi } from '../source/api.js'
import { resolvedHere } from './resolved.js'

interface Explained {
  operation: string
  subsystem?: string
  enabled: boolean
  policies: {
    kind: string
    policy_id: string
    enabled: boolean
    values: Record<string, { value: unknown; origin: string; where?: string | null }>
    schedule: { waits: ChartedWait[]; total: { min: number; max: number }; more: boolean }
    breaker?: string | null
  }[]
  notes: string[]
}

async function answer(context: Context, operation: string): Promise<Explained> {
  if (serverOf(context) !== undefined)
    return withApi(context, {}, (api) => ask(api, 'GET', '/config/explain', { query: { operation } }))
  return encodeExplanation(explained(await resolvedHere(context), operation)) as Explained
}

/** What is worth a line: what somebody chose, and what every reader looks for. */
const ALWAYS = ['max_attempts', 'backoff_type', 'base_delay', 'max_delay', 'jitter_type']

/** `explain OPERATION`: values, where they come from, and the delays they mean. */
export async function explain(
  context: Context,
  operation: string,
  { all }: { all?: boolean },
): Promise<void> {
  const { io, shared } = context
  const result = await answer(context, operation)
  if (shared.json) return printJson(context, result)
  const hue = paint(io.colours)
  const print = (line = ''): void => io.out(`${line}\n`)
  print(
    `${hue('bold', shown(operation))}${result.subsystem ? `  (subsystem ${shown(result.subsystem)})` : ''}`,
  )
  if (!result.enabled) print(hue('yellow', 'Calls go straight through: it is switched off.'))
  for (const { kind, policy_id, values, schedule, breaker, enabled } of result.policies) {
    print()
    const about = kind === 'default' ? 'every other failure' : `failures of the kind ${shown(kind)}`
    print(`${hue('cyan', shown(policy_id))}  for ${result.policies.length === 1 ? 'every failure' : about}`)
    if (!enabled) print(hue('yellow', 'This policy is off: one attempt, no deadline.'))
    const rows = Object.entries(values)
      .filter(([name, { origin }]) => all || origin !== 'built-in' || ALWAYS.includes(name))
      .map(([name, { value, origin, where }]) => [name, shown(value), origin, where ?? ''])
    io.out(table(io, ['value', 'is', 'from', 'where'], rows))
    if (breaker) print(`circuit breaker  ${shown(breaker)}`)
    const lines = chart(schedule.waits, io.terminal ? io.columns() : 80)
    if (lines.length > 0) print()
    for (const line of lines) print(line)
    const { min, max } = schedule.total
    if (schedule.waits.length > 0)
      print(
        `all waits together: ${min === max ? span(max) : `${span(min)} – ${span(max)}`}${schedule.more ? ', and more follow' : ''}`,
      )
  }
  for (const note of result.notes) print(`\n${hue('yellow', 'note')}  ${shown(note)}`)
}
