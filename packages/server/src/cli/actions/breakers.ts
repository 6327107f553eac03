import { openStore } from '@holdfast/runtime'
import { waitOrAbort } from '../../wait-or-abort.js'
import type { WireBreaker } from '../../wire-types.js'
import { type ApiBackend, fetchList, reasonHeader, requestJson, withApi } from '../backends/api.js'
import { loadFile } from '../backends/file.js'
import { resolveStore } from '../backends/local.js'
import { type CommandContext, serverUrl } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { printJson, printList } from '../output/print.js'
import { formatRelativeTime } from '../output/text.js'
import { runUntilInterrupted } from './interrupt.js'

/** The fields of a breaker that are shown. A stored state has no threshold. */
type ShownBreaker = Pick<
  WireBreaker,
  'id' | 'state' | 'failure_count' | 'next_test_time' | 'last_state_change'
> &
  Partial<Pick<WireBreaker, 'failure_threshold'>>

export interface BreakersOptions {
  state?: string
  pool?: string
  limit: number
  watch?: boolean
  interval: number
}

export interface ChangeOptions {
  reason?: string
  /** The duration of a trip in seconds. */
  for?: number | 'Infinity'
}

interface FoundBreakers {
  items: readonly ShownBreaker[]
  hasMore: boolean
}

const printBreakers = (context: CommandContext, { items, hasMore }: FoundBreakers): void =>
  printList(context, {
    items,
    hasMore,
    head: ['id', 'state', 'failures', 'next probe', 'changed'],
    row: (breaker) => [
      breaker.id,
      breaker.state,
      breaker.failure_threshold === undefined
        ? breaker.failure_count
        : `${breaker.failure_count} of ${breaker.failure_threshold}`,
      formatRelativeTime(breaker.next_test_time, context.io.clock.wall()),
      formatRelativeTime(breaker.last_state_change, context.io.clock.wall()),
    ],
    emptyMessage: 'no breakers found',
  })

const fetchBreakers = (api: ApiBackend, { state, pool, limit }: BreakersOptions): Promise<FoundBreakers> =>
  fetchList<WireBreaker>(api, '/circuit-breakers', { limit, query: { state, pool }, key: 'circuit_breakers' })

/** Reads the breakers that are persisted in the store. */
async function readStoredBreakers(
  context: CommandContext,
  { state, pool, limit }: BreakersOptions,
): Promise<FoundBreakers> {
  const { checked, dir } = await loadFile(context)
  const { url, isPresent } = resolveStore(checked.config, dir)
  if (!isPresent) return { items: [], hasMore: false }
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
    const selected = all.filter(
      (breaker) => breaker.id.startsWith(prefix) && (state ?? breaker.state) === breaker.state,
    )
    return { items: selected.slice(0, limit), hasMore: selected.length > limit }
  } finally {
    await store.close()
  }
}

/** `breakers`: prints the states of breakers, repeatedly with `--watch`. */
export async function listBreakers(context: CommandContext, options: BreakersOptions): Promise<void> {
  const { io, globalOptions } = context
  if (serverUrl(context) === undefined && !options.watch) {
    printBreakers(context, await readStoredBreakers(context, options))
    if (!globalOptions.json)
      io.err('these are the states in the store; --url shows the live states of a server\n')
    return
  }
  await withApi(
    context,
    { liveReason: 'breakers --watch shows the breakers of a running process' },
    async (api) => {
      if (!options.watch) return printBreakers(context, await fetchBreakers(api, options))
      let last = ''
      await runUntilInterrupted(io, async (signal) => {
        while (!signal.aborted) {
          const found = await fetchBreakers(api, options)
          const text = JSON.stringify(found.items)
          if (io.isTerminal && !globalOptions.json) io.out('\u001b[H\u001b[2J')
          else if (text === last) {
            await waitOrAbort(io.clock, options.interval * 1000, signal)
            continue
          }
          last = text
          printBreakers(context, found)
          await waitOrAbort(io.clock, options.interval * 1000, signal)
        }
      })
    },
  )
}

/** `breakers reset|trip ID`: closes or opens a breaker. */
export async function changeBreaker(
  context: CommandContext,
  action: 'reset' | 'trip',
  id: string,
  { reason, for: duration }: ChangeOptions,
): Promise<void> {
  const options = { liveReason: `breakers ${action} changes a breaker of a running process` }
  await withApi(context, options, async (api) => {
    let changed: WireBreaker
    try {
      changed = await requestJson(api, 'POST', `/circuit-breakers/${encodeURIComponent(id)}/${action}`, {
        ...reasonHeader(reason),
        ...(duration !== undefined && { body: { duration } }),
      })
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.code !== 'NOT_FOUND') throw error
      throw new CommandFailure(EXIT_CODES.failure, `breaker ${id} not found`, {
        code: 'NOT_FOUND',
        hint: 'holdfast breakers lists all breakers; ids are policy:ID, service:NAME and pool:POOL:MEMBER',
      })
    }
    if (context.globalOptions.json) printJson(context, changed)
    else context.io.out(`${changed.id} is ${changed.state}\n`)
  })
}
