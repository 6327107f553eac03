import { openStore } from '@holdfast/runtime'
import { type ApiBackend, fetchList, reasonHeader, requestJson, withApi } from '../backends/api.js'
import { loadFile } from '../backends/file.js'
import { resolveStore } from '../backends/local.js'
import { type CommandContext, serverUrl } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { printJson, printList } from '../output/print.js'
import { formatRelativeTime } from '../output/text.js'
import { runUntilInterrupted, waitOrAbort } from './wait.js'

interface WireBreaker {
  id: string
  state: string
  failure_count: number
  failure_threshold?: number
  next_test_time?: string | null
  last_state_change?: string
}

export interface BreakersOptions {
  state?: string
  pool?: string
  limit: number
  watch?: boolean
  interval: number
}

interface FoundBreakers {
  items: readonly WireBreaker[]
  more: boolean
}

const printBreakers = (context: CommandContext, { items, more }: FoundBreakers): void =>
  printList(context, {
    items,
    hasMore: more,
    head: ['id', 'state', 'failures', 'next test', 'changed'],
    row: (breaker) => [
      breaker.id,
      breaker.state,
      breaker.failure_threshold === undefined
        ? breaker.failure_count
        : `${breaker.failure_count} of ${breaker.failure_threshold}`,
      formatRelativeTime(breaker.next_test_time, context.io.clock.wall()),
      formatRelativeTime(breaker.last_state_change, context.io.clock.wall()),
    ],
    emptyMessage: 'there are no such breakers',
  })

const fetchBreakers = (api: ApiBackend, { state, pool, limit }: BreakersOptions): Promise<FoundBreakers> =>
  fetchList<WireBreaker>(api, '/circuit-breakers', { limit, query: { state, pool }, key: 'circuit_breakers' })

/** What the store has of breakers that outlive their process. */
async function readStoredBreakers(
  context: CommandContext,
  { state, pool, limit }: BreakersOptions,
): Promise<FoundBreakers> {
  const { checked, dir } = await loadFile(context)
  const { url, exists } = resolveStore(checked.config, dir)
  if (!exists) return { items: [], more: false }
  const store = await openStore(url)
  try {
    const all = (await store.breakers.load()).map(({ snapshot, updatedAt }) => ({
      id: snapshot.id,
      state: snapshot.state,
      failure_count: snapshot.failureCount,
      next_test_time:
        snapshot.nextTestTime === undefined ? null : new Date(snapshot.nextTestTime).toISOString(),
      last_state_change: updatedAt.toISOString(),
    }))
    const prefix = pool === undefined ? '' : `pool:${encodeURIComponent(pool)}:`
    const fit = all.filter(({ id, state: is }) => id.startsWith(prefix) && (state ?? is) === is)
    return { items: fit.slice(0, limit), more: fit.length > limit }
  } finally {
    await store.close()
  }
}

const hasServer = (context: CommandContext): boolean => serverUrl(context) !== undefined

/** `listBreakers`: how they stand now, or go on to stand with `--watch`. */
export async function listBreakers(context: CommandContext, options: BreakersOptions): Promise<void> {
  const { io, globalOptions } = context
  if (!hasServer(context) && !options.watch) {
    printBreakers(context, await readStoredBreakers(context, options))
    if (!globalOptions.json) io.err('as the store has them; --url shows the live ones of a server\n')
    return
  }
  await withApi(context, { liveReason: 'breakers --watch looks into a running process' }, async (api) => {
    if (!options.watch) return printBreakers(context, await fetchBreakers(api, options))
    let last = ''
    await runUntilInterrupted(io, async (signal) => {
      while (!signal.aborted) {
        const found = await fetchBreakers(api, options)
        const text = JSON.stringify(found.items)
        if (io.isTerminal && !globalOptions.json) io.out('\u001b[H\u001b[2J')
        else if (text === last) {
          await waitOrAbort(io, options.interval * 1000, signal)
          continue
        }
        last = text
        printBreakers(context, found)
        await waitOrAbort(io, options.interval * 1000, signal)
      }
    })
  })
}

/** `breakers reset|trip ID`: puts one right, or takes one out. */
export async function changeBreaker(
  context: CommandContext,
  act: 'reset' | 'trip',
  id: string,
  { reason }: { reason?: string },
): Promise<void> {
  const options = { liveReason: `a breaker lives in the process that makes the calls, so to ${act} one` }
  await withApi(context, options, async (api) => {
    let changed: WireBreaker
    try {
      changed = await requestJson(
        api,
        'POST',
        `/circuit-breakers/${encodeURIComponent(id)}/${act}`,
        reasonHeader(reason),
      )
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.code !== 'NOT_FOUND') throw error
      throw new CommandFailure(EXIT_CODES.failure, `there is no breaker ${id}`, {
        code: 'NOT_FOUND',
        hint: 'holdfast breakers lists them; ids are policy:ID, service:NAME and pool:POOL:MEMBER',
      })
    }
    if (context.globalOptions.json) printJson(context, changed)
    else context.io.out(`${changed.id} is ${changed.state}\n`)
  })
}
