import { openStore } from '@holdfast/runtime'
import { type Context, serverOf } from '../context.js'
import { CommandFailure, EXIT } from '../exit.js'
import { printJson, printList } from '../output/print.js'
import { when } from '../output/text.js'
import { type Api, ask, because, listed, withApi } from '../source/api.js'
import { loadFile } from '../source/file.js'
import { storeOf } from '../source/local.js'
import { pause, untilInterrupted } from './wait.js'

interface Breaker {
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

interface Found {
  items: readonly Breaker[]
  more: boolean
}

const print = (context: Context, { items, more }: Found): void =>
  printList(context, {
    items,
    more,
    head: ['id', 'state', 'failures', 'next test', 'changed'],
    row: (breaker) => [
      breaker.id,
      breaker.state,
      breaker.failure_threshold === undefined
        ? breaker.failure_count
        : `${breaker.failure_count} of ${breaker.failure_threshold}`,
      when(breaker.next_test_time, context.io.clock.wall()),
      when(breaker.last_state_change, context.io.clock.wall()),
    ],
    none: 'there are no such breakers',
  })

const live = (api: Api, { state, pool, limit }: BreakersOptions): Promise<Found> =>
  listed<Breaker>(api, '/circuit-breakers', { limit, query: { state, pool }, key: 'circuit_breakers' })

/** What the store has of breakers that outlive their process. */
async function kept(context: Context, { state, pool, limit }: BreakersOptions): Promise<Found> {
  const { checked, dir } = await loadFile(context)
  const { url, exists } = storeOf(checked.config, dir)
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

const isLive = (context: Context): boolean => serverOf(context) !== undefined

/** `breakers`: how they stand now, or go on to stand with `--watch`. */
export async function breakers(context: Context, options: BreakersOptions): Promise<void> {
  const { io, shared } = context
  if (!isLive(context) && !options.watch) {
    print(context, await kept(context, options))
    if (!shared.json) io.err('as the store has them; --url shows the live ones of a server\n')
    return
  }
  await withApi(context, { live: 'breakers --watch looks into a running process' }, async (api) => {
    if (!options.watch) return print(context, await live(api, options))
    let last = ''
    await untilInterrupted(io, async (signal) => {
      while (!signal.aborted) {
        const found = await live(api, options)
        const text = JSON.stringify(found.items)
        if (io.terminal && !shared.json) io.out('\u001b[H\u001b[2J')
        else if (text === last) {
          await pause(io, options.interval * 1000, signal)
          continue
        }
        last = text
        print(context, found)
        await pause(io, options.interval * 1000, signal)
      }
    })
  })
}

/** `breakers reset|trip ID`: puts one right, or takes one out. */
export async function changeBreaker(
  context: Context,
  act: 'reset' | 'trip',
  id: string,
  { reason }: { reason?: string },
): Promise<void> {
  const options = { live: `a breaker lives in the process that makes the calls, so to ${act} one` }
  await withApi(context, options, async (api) => {
    let changed: Breaker
    try {
      changed = await ask(api, 'POST', `/circuit-breakers/${encodeURIComponent(id)}/${act}`, because(reason))
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.code !== 'NOT_FOUND') throw error
      throw new CommandFailure(EXIT.failure, `there is no breaker ${id}`, {
        code: 'NOT_FOUND',
        hint: 'holdfast breakers lists them; ids are policy:ID, service:NAME and pool:POOL:MEMBER',
      })
    }
    if (context.shared.json) printJson(context, changed)
    else context.io.out(`${changed.id} is ${changed.state}\n`)
  })
}
