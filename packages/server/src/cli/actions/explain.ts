import { encodeExplanation } from '@holdfast/runtime'
import { explain as explained } from '@holdfast/runtime/config'
import { requestJson, withApi } from '../backends/api.js'
import { type CommandContext, serverUrl } from '../context/context.js'
import { type ChartedWait, formatChart } from '../output/chart.js'
import { printJson } from '../output/print.js'
import { formatTable } from '../output/table.js'
import { createPainter, formatInline, formatSeconds } from '../output/text.js'
import { resolveConfigHere } from './resolved.js'

interface WireExplanation {
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

async function fetchExplanation(context: CommandContext, operation: string): Promise<WireExplanation> {
  if (serverUrl(context) !== undefined)
    return withApi(context, {}, (api) => requestJson(api, 'GET', '/config/explain', { query: { operation } }))
  return encodeExplanation(explained(await resolveConfigHere(context), operation)) as WireExplanation
}

/** What is worth a line: what somebody chose, and what every reader looks for. */
const ALWAYS_SHOWN_FIELDS = ['max_attempts', 'backoff_type', 'base_delay', 'max_delay', 'jitter_type']

/** `explain OPERATION`: values, where they come from, and the delays they mean. */
export async function printExplanation(
  context: CommandContext,
  operation: string,
  { all }: { all?: boolean },
): Promise<void> {
  const { io, globalOptions } = context
  const result = await fetchExplanation(context, operation)
  if (globalOptions.json) return printJson(context, result)
  const hue = createPainter(io.hasColours)
  const print = (line = ''): void => io.out(`${line}\n`)
  print(
    `${hue('bold', formatInline(operation))}${result.subsystem ? `  (subsystem ${formatInline(result.subsystem)})` : ''}`,
  )
  if (!result.enabled) print(hue('yellow', 'Calls go straight through: it is switched off.'))
  for (const { kind, policy_id, values, schedule, breaker, enabled } of result.policies) {
    print()
    const about = kind === 'default' ? 'every other failure' : `failures of the kind ${formatInline(kind)}`
    print(
      `${hue('cyan', formatInline(policy_id))}  for ${result.policies.length === 1 ? 'every failure' : about}`,
    )
    if (!enabled) print(hue('yellow', 'This policy is off: one attempt, no deadline.'))
    const rows = Object.entries(values)
      .filter(([name, { origin }]) => all || origin !== 'built-in' || ALWAYS_SHOWN_FIELDS.includes(name))
      .map(([name, { value, origin, where }]) => [name, formatInline(value), origin, where ?? ''])
    io.out(formatTable(io, ['value', 'is', 'from', 'where'], rows))
    if (breaker) print(`circuit breaker  ${formatInline(breaker)}`)
    const lines = formatChart(schedule.waits, io.isTerminal ? io.columns() : 80)
    if (lines.length > 0) print()
    for (const line of lines) print(line)
    const { min, max } = schedule.total
    if (schedule.waits.length > 0)
      print(
        `all waits together: ${min === max ? formatSeconds(max) : `${formatSeconds(min)} – ${formatSeconds(max)}`}${schedule.more ? ', and more follow' : ''}`,
      )
  }
  for (const note of result.notes) print(`\n${hue('yellow', 'note')}  ${formatInline(note)}`)
}
