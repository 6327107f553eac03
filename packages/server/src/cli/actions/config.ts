import { stringify } from 'yaml'
import { encodeConfig, redactedPaths } from '../../http/config-wire.js'
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

interface ConfigVersion {
  version: number
  by: string
  reason?: string | null
  at: string
}

/** One value that is not the same on both sides. */
export interface ValueDifference {
  path: string
  before: unknown
  after: unknown
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Where two configs differ, by the paths of their values. Lists are compared as wholes. */
export function diffValues(before: unknown, after: unknown, path: readonly string[] = []): ValueDifference[] {
  if (isMapping(before) && isMapping(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
    return keys.flatMap((key) => diffValues(before[key], after[key], [...path, key]))
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  return [{ path: path.join('.'), before: before ?? null, after: after ?? null }]
}

const hasServer = (context: CommandContext): boolean => serverUrl(context) !== undefined

/** What is in force: at the server, or by the file and the changes in its store. */
async function activeConfig(context: CommandContext): Promise<object> {
  if (hasServer(context)) return withApi(context, {}, (api) => requestJson<object>(api, 'GET', '/config'))
  const loaded = await loadFile(context)
  return encodeConfig({ current: loaded.checked.config, layer: await readStoredLayer(loaded) })
}

/** `config export`: what is in force as a file would say it, without secrets. */
export async function exportConfig(context: CommandContext, { out }: { out?: string }): Promise<void> {
  const config = await activeConfig(context)
  const hidden = redactedPaths(config)
  const warning = `secrets were left out: put them in before this is used, at ${hidden.join(', ')}`
  if (hidden.length > 0) context.io.err(`holdfast: ${warning}\n`)
  if (context.globalOptions.json && out === undefined) return printJson(context, config)
  const comment = hidden.length > 0 ? `# ${warning}\n` : ''
  const text = context.globalOptions.json
    ? `${JSON.stringify(config, null, 2)}\n`
    : comment + stringify(config)
  await writeOrPrint(context, out, text)
}

/** `config diff [FILE]`: what another file, or what is in force, has other than the config file. */
export async function diffConfig(context: CommandContext, other: string | undefined): Promise<void> {
  const wire = async (one: CommandContext) =>
    encodeConfig({ current: (await loadFile(one)).checked.config, layer: {} })
  const before = await wire(context)
  const after =
    other === undefined
      ? await activeConfig(context)
      : await wire({ ...context, globalOptions: { ...context.globalOptions, config: other } })
  printList(context, {
    items: diffValues(before, after),
    head: ['value', 'in the file', other === undefined ? 'in force' : 'in the other'],
    row: ({ path, before: was, after: is }) => [path, was, is],
    emptyMessage: 'there is no difference',
  })
}

/** `config history`: versions of the changes made through the API. */
export async function listHistory(context: CommandContext, { limit }: { limit: number }): Promise<void> {
  const found = await withApi(context, {}, (api) =>
    fetchList<ConfigVersion>(api, '/config/history', { limit }),
  )
  printList(context, {
    ...found,
    head: ['version', 'by', 'when', 'reason'],
    row: ({ version, by, at, reason }) => [
      version,
      by,
      formatRelativeTime(at, context.io.clock.wall()),
      reason,
    ],
    emptyMessage: 'nothing was ever changed through the API',
  })
}

/** Changes that answer what is in force afterwards. */
async function postChange(
  context: CommandContext,
  options: { liveReason?: string },
  path: string,
  said: string,
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
  else context.io.out(`${said}\n`)
}

/** `config reload`: the server reads its file again. */
export const reloadConfig = (context: CommandContext, options: ReasonOption): Promise<void> =>
  postChange(
    context,
    { liveReason: 'a running process reads its file again' },
    '/config/reload',
    'the file was read again and is in force',
    options,
  )

/** When a change on the store is in force. */
const effectiveWhen = (context: CommandContext): string =>
  hasServer(context) ? '' : '; a process that runs on this store goes by it within a second'

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
    `changes are as they were in version ${version}${effectiveWhen(context)}`,
    options,
    { version },
  )

/** `config clear`: drops the changes made through the API. */
export const clearChanges = (context: CommandContext, options: ReasonOption): Promise<void> =>
  postChange(
    context,
    {},
    '/config/clear',
    `all changes made through the API are dropped${effectiveWhen(context)}`,
    options,
  )
