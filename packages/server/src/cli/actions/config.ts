import type { Configuration, Wire } from '@holdfast/runtime'
import { stringify } from 'yaml'
import { encodeConfig, redactedPaths } from '../../http/config-wire.js'
import type { WireConfigDifference } from '../../routes/config.js'
import { fetchList, reasonHeader, requestJson, withApi } from '../backends/api.js'
import { loadFile } from '../backends/file.js'
import { type CommandContext, serverUrl } from '../context/context.js'
import { printJson, printList } from '../output/print.js'
import { formatRelativeTime } from '../output/text.js'
import { readStoredLayer } from './resolved.js'
import { writeOrPrint } from './write.js'

interface ReasonOption {
  reason?: string
}

type WireVersion = Wire<Awaited<ReturnType<Configuration['history']>>[number]>

/** A value that differs between two configs. */
export interface ValueDifference {
  path: string
  before: unknown
  after: unknown
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The differences of two configs by path. Lists are compared as a whole. */
export function diffValues(before: unknown, after: unknown, path: readonly string[] = []): ValueDifference[] {
  if (isMapping(before) && isMapping(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
    return keys.flatMap((key) => diffValues(before[key], after[key], [...path, key]))
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  return [{ path: path.join('.'), before: before ?? null, after: after ?? null }]
}

const hasServer = (context: CommandContext): boolean => serverUrl(context) !== undefined

/** The effective configuration: that of the server, or the file with the changes in its store. */
async function activeConfig(context: CommandContext): Promise<object> {
  if (hasServer(context)) return withApi(context, {}, (api) => requestJson<object>(api, 'GET', '/config'))
  const loaded = await loadFile(context)
  return encodeConfig({ current: loaded.checked.config, layer: await readStoredLayer(loaded) })
}

/** `config export`: prints the effective configuration as a config file, without secrets. */
export async function exportConfig(context: CommandContext, { out }: { out?: string }): Promise<void> {
  const config = await activeConfig(context)
  const redacted = redactedPaths(config)
  const warning = `secrets were redacted; set them before you use this file: ${redacted.join(', ')}`
  if (redacted.length > 0) context.io.err(`holdfast: ${warning}\n`)
  if (context.globalOptions.json && out === undefined) return printJson(context, config)
  const comment = redacted.length > 0 ? `# ${warning}\n` : ''
  const text = context.globalOptions.json
    ? `${JSON.stringify(config, null, 2)}\n`
    : comment + stringify(config)
  await writeOrPrint(context, out, text)
}

/** `config diff [FILE]`: compares the config file with the effective configuration, or with another file. */
export async function diffConfig(context: CommandContext, other: string | undefined): Promise<void> {
  const loadConfig = async (fileContext: CommandContext) =>
    encodeConfig({ current: (await loadFile(fileContext)).checked.config, layer: {} })
  const before = await loadConfig(context)
  const after =
    other === undefined
      ? await activeConfig(context)
      : await loadConfig({ ...context, globalOptions: { ...context.globalOptions, config: other } })
  printList(context, {
    items: diffValues(before, after),
    head: ['value', 'file', other === undefined ? 'effective' : 'other file'],
    row: (difference) => [difference.path, difference.before, difference.after],
    emptyMessage: 'no differences',
  })
}

/** `config history`: lists the versions of the live changes. */
export async function listHistory(context: CommandContext, { limit }: { limit: number }): Promise<void> {
  const found = await withApi(context, {}, (api) => fetchList<WireVersion>(api, '/config/history', { limit }))
  printList(context, {
    ...found,
    head: ['version', 'by', 'when', 'reason'],
    row: ({ version, by, at, reason }) => [
      version,
      by,
      formatRelativeTime(at, context.io.clock.wall()),
      reason,
    ],
    emptyMessage: 'no live changes',
  })
}

/** `config history VERSION`: lists the values that a version changed. */
export async function showVersion(context: CommandContext, version: number): Promise<void> {
  const query = { from: String(version - 1), to: String(version) }
  const found = await withApi(context, {}, (api) =>
    requestJson<{ items: WireConfigDifference[] }>(api, 'GET', '/config/diff', { query }),
  )
  const show = (difference: WireConfigDifference, side: 'before' | 'after') =>
    side in difference ? difference[side] : 'file value'
  printList(context, {
    items: found.items,
    head: ['value', 'before', 'after'],
    row: (difference) => [difference.path, show(difference, 'before'), show(difference, 'after')],
    emptyMessage: `version ${version} changed nothing`,
  })
}

/** Sends a change, whose response is the configuration after it. */
async function postChange(
  context: CommandContext,
  options: { liveReason?: string },
  path: string,
  message: string,
  { reason }: ReasonOption,
  body?: unknown,
): Promise<void> {
  const config = await withApi(context, { ...options, canWrite: true }, (api) =>
    requestJson<object>(api, 'POST', path, {
      ...reasonHeader(reason),
      ...(body === undefined ? {} : { body }),
    }),
  )
  if (context.globalOptions.json) printJson(context, config)
  else context.io.out(`${message}\n`)
}

/** `config reload`: reloads the config file of a server. */
export const reloadConfig = (context: CommandContext, options: ReasonOption): Promise<void> =>
  postChange(
    context,
    { liveReason: 'config reload reloads the file of a running process' },
    '/config/reload',
    'the config file was reloaded',
    options,
  )

/** The notice for changes in a store, which other processes apply later. */
const effectiveWhen = (context: CommandContext): string =>
  hasServer(context) ? '' : '; processes that use this store apply it within a second'

/** `config rollback VERSION`. */
export const rollbackConfig = (
  context: CommandContext,
  version: number,
  options: ReasonOption,
): Promise<void> =>
  postChange(
    context,
    {},
    '/config/rollback',
    `version ${version} of the changes was restored${effectiveWhen(context)}`,
    options,
    { version },
  )

/** `config clear`: discards all live changes. */
export const clearChanges = (context: CommandContext, options: ReasonOption): Promise<void> =>
  postChange(
    context,
    {},
    '/config/clear',
    `all live changes were discarded${effectiveWhen(context)}`,
    options,
  )
