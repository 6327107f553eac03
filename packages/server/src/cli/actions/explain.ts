import { encodeExplanation } from '@holdfast/runtime'
import { explain } from '@holdfast/runtime/config'
import type { WireExplanation } from '../../wire-types.js'
import { requestJson, withApi } from '../backends/api.js'
import { type CommandContext, serverUrl } from '../context/context.js'
import { formatChart } from '../output/chart.js'
import { printJson } from '../output/print.js'
import { formatTable } from '../output/table.js'
import { createPainter, formatInline, formatSeconds } from '../output/text.js'
import { resolveConfigHere } from './resolved.js'

async function fetchExplanation(context: CommandContext, operation: string): Promise<WireExplanation> {
  if (serverUrl(context) !== undefined)
    return withApi(context, {}, (api) => requestJson(api, 'GET', '/config/explain', { query: { operation } }))
  return encodeExplanation(explain(await resolveConfigHere(context), operation)) as WireExplanation
}

/** Fields that are shown even if they have their built-in defaults. */
const ALWAYS_SHOWN_FIELDS = ['max_attempts', 'backoff_type', 'base_delay', 'max_delay', 'jitter_type']

/** `explain OPERATION`: prints the effective values, their origins and the resulting delays. */
export async function printExplanation(
  context: CommandContext,
  operation: string,
  { all }: { all?: boolean },
): Promise<void> {
  const { io, globalOptions } = context
  const result = await fetchExplanation(context, operation)
  if (globalOptions.json) return printJson(context, result)
  const paint = createPainter(io.hasColours)
  const print = (line = ''): void => io.out(`${line}\n`)
  print(
    `${paint('bold', formatInline(operation))}${result.subsystem ? `  (subsystem ${formatInline(result.subsystem)})` : ''}`,
  )
  if (!result.enabled) print(paint('yellow', 'Disabled: calls run without retries and breakers.'))
  for (const { kind, policy_id, values, schedule, breaker, enabled } of result.policies) {
    print()
    const scope = kind === 'default' ? 'all other failures' : `failures of the kind ${formatInline(kind)}`
    print(
      `${paint('cyan', formatInline(policy_id))}  for ${result.policies.length === 1 ? 'all failures' : scope}`,
    )
    if (!enabled) print(paint('yellow', 'This policy is disabled: one attempt, no timeout.'))
    const rows = Object.entries(values)
      .filter(([name, { origin }]) => all || origin !== 'built-in' || ALWAYS_SHOWN_FIELDS.includes(name))
      .map(([name, { value, origin, where }]) => [name, formatInline(value), origin, where ?? ''])
    io.out(formatTable(io, ['field', 'value', 'origin', 'location'], rows))
    if (breaker) print(`circuit breaker  ${formatInline(breaker)}`)
    const lines = formatChart(schedule.waits, io.isTerminal ? io.columns() : 80)
    if (lines.length > 0) print()
    for (const line of lines) print(line)
    const { base, min, max } = schedule.total
    const range = min === max ? '' : ` (${formatSeconds(min)}–${formatSeconds(max)} with jitter)`
    const scopeOfTotal = schedule.more ? ` of the first ${schedule.waits.length} retries` : ''
    if (schedule.waits.length > 0) print(`Total wait${scopeOfTotal} ${formatSeconds(base)}${range}`)
  }
  for (const note of result.notes) print(`\n${paint('yellow', 'note')}  ${formatInline(note)}`)
}
