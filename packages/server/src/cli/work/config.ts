import { stringify } from 'yaml'
import { configWire, hiddenIn } from '../../answer/config.js'
import { type Context, serverOf } from '../context.js'
import { printJson, printList } from '../output/print.js'
import { when } from '../output/text.js'
import { ask, because, listed, withApi } from '../source/api.js'
import { loadFile } from '../source/file.js'
import { storedLayer } from './resolved.js'
import { put } from './write.js'

interface Reasoned {
  reason?: string
}

interface Version {
  version: number
  by: string
  reason?: string | null
  at: string
}

/** One value that is not the same on both sides. */
export interface Difference {
  path: string
  before: unknown
  after: unknown
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Where two configs differ, by the paths of their values. Lists are compared as wholes. */
export function differences(before: unknown, after: unknown, path: readonly string[] = []): Difference[] {
  if (isMapping(before) && isMapping(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
    return keys.flatMap((key) => differences(before[key], after[key], [...path, key]))
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  return [{ path: path.join('.'), before: before ?? null, after: after ?? null }]
}

const isRemote = (context: Context): boolean => serverOf(context) !== undefined

/** What is in force: at the server, or by the file and the changes in its store. */
async function inForce(context: Context): Promise<object> {
  if (isRemote(context)) return withApi(context, {}, (api) => ask<object>(api, 'GET', '/config'))
  const loaded = await loadFile(context)
  return configWire({ current: loaded.checked.config, layer: await storedLayer(loaded) })
}

/** `config export`: what is in force as a file would say it, without secrets. */
export async function exportConfig(context: Context, { out }: { out?: string }): Promise<void> {
  const config = await inForce(context)
  const hidden = hiddenIn(config)
  const warning = `secrets were left out: put them in before this is used, at ${hidden.join(', ')}`
  if (hidden.length > 0) context.io.err(`holdfast: ${warning}\n`)
  if (context.shared.json && out === undefined) return printJson(context, config)
  const comment = hidden.length > 0 ? `# ${warning}\n` : ''
  const text = context.shared.json ? `${JSON.stringify(config, null, 2)}\n` : comment + stringify(config)
  await put(context, out, text)
}

/** `config diff [FILE]`: what another file, or what is in force, has other than the config file. */
export async function diff(context: Context, other: string | undefined): Promise<void> {
  const wire = async (one: Context) =>
    configWire({ current: (await loadFile(one)).checked.config, layer: {} })
  const before = await wire(context)
  const after =
    other === undefined
      ? await inForce(context)
      : await wire({ ...context, shared: { ...context.shared, config: other } })
  printList(context, {
    items: differences(before, after),
    head: ['value', 'in the file', other === undefined ? 'in force' : 'in the other'],
    row: ({ path, before: was, after: is }) => [path, was, is],
    none: 'there is no difference',
  })
}

/** `config history`: versions of the changes made through the API. */
export async function history(context: Context, { limit }: { limit: number }): Promise<void> {
  const found = await withApi(context, {}, (api) => listed<Version>(api, '/config/history', { limit }))
  printList(context, {
    ...found,
    head: ['version', 'by', 'when', 'reason'],
    row: ({ version, by, at, reason }) => [version, by, when(at, context.io.clock.wall()), reason],
    none: 'nothing was ever changed through the API',
  })
}

/** Changes that answer what is in force afterwards. */
async function change(
  context: Context,
  options: { live?: string },
  path: string,
  said: string,
  { reason }: Reasoned,
  body?: unknown,
): Promise<void> {
  const config = await withApi(context, { ...options, writes: true }, (api) =>
    ask<object>(api, 'POST', path, { ...because(reason), ...(body === undefined ? {} : { body }) }),
  )
  if (context.shared.json) printJson(context, config)
  else context.io.out(`${said}\n`)
}

/** `config reload`: the server reads its file again. */
export const reload = (context: Context, options: Reasoned): Promise<void> =>
  change(
    context,
    { live: 'a running process reads its file again' },
    '/config/reload',
    'the file was read again and is in force',
    options,
  )

/** When a change on the store is in force. */
const soon = (context: Context): string =>
  isRemote(context) ? '' : '; a process that runs on this store goes by it within a second'

/** `config rollback VERSION`. */
export const rollback = (context: Context, version: number, options: Reasoned): Promise<void> =>
  change(
    context,
    {},
    '/config/rollback',
    `changes are as they were in version ${version}${soon(context)}`,
    options,
    { version },
  )

/** `config clear`: drops the changes made through the API. */
export const clear = (context: Context, options: Reasoned): Promise<void> =>
  change(
    context,
    {},
    '/config/clear',
    `all changes made through the API are dropped${soon(context)}`,
    options,
  )
