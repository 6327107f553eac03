import type { MetricsRow, StoredBreaker } from '@holdfast/store'
import { DAY_MS } from './history-clock.js'
import type { TableKind } from './table-history.js'

const KEYS = ['a', 'a:b', 'b', 'ü'] as const

/** Sorted as text, by code units. */
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const VALUES: TableKind = {
  name: 'values',
  planChange({ choices }) {
    const key = choices.pick(KEYS)
    const value = choices.chance(0.25) ? undefined : { number: choices.below(1000), text: 'x'.repeat(700) }
    return {
      what: value === undefined ? `delete of ${key}` : `set of ${key}`,
      apply: () => ({ rows: new Map([[key, value]]), result: undefined }),
      call: ({ values }) => (value === undefined ? values.delete(key) : values.set(key, value)),
    }
  },
  planRead({ choices }, rows) {
    if (choices.chance(0.5)) {
      const key = choices.pick(KEYS)
      return { what: `get of ${key}`, result: rows.get(key), call: ({ values }) => values.get(key) }
    }
    const prefix = choices.pick(['', 'a', 'b'])
    const result = [...rows]
      .filter(([key]) => key.startsWith(prefix))
      .toSorted(([a], [b]) => byText(a, b))
      .map(([key, value]) => ({ key, value }))
    return { what: `list of '${prefix}'`, result, call: ({ values }) => values.list(prefix) }
  },
  load: async ({ values }) => new Map((await values.list('')).map(({ key, value }) => [key, value])),
}

const BREAKER_IDS = ['service:mail', 'service:search', 'pool:proxies:m0'] as const

const createBreaker = (id: string, failureCount: number, at: number): StoredBreaker => ({
  snapshot: {
    id,
    state: 'open',
    failureCount,
    windowType: 'rolling',
    failureWindow: [],
    successCount: 0,
    openedInARow: 1,
    openDuration: 30_000,
    epoch: failureCount,
  },
  createdAt: new Date(at),
  updatedAt: new Date(at),
})

const byBreakerId = (rows: readonly StoredBreaker[]): ReadonlyMap<string, StoredBreaker> =>
  new Map(rows.map((row) => [row.snapshot.id, row]))

const BREAKERS: TableKind = {
  name: 'breakers',
  planChange({ choices, clock }) {
    const ids = BREAKER_IDS.filter(() => choices.chance(0.6))
    if (choices.chance(0.2))
      return {
        what: `delete of ${ids.join(', ')}`,
        apply: () => ({ rows: new Map(ids.map((id) => [id, undefined])), result: undefined }),
        call: ({ breakers }) => breakers.delete(ids),
      }
    const saved = ids.map((id) => createBreaker(id, choices.below(1000), clock.now))
    return {
      what: `save of ${ids.join(', ')}`,
      apply: () => ({ rows: byBreakerId(saved), result: undefined }),
      call: ({ breakers }) => breakers.save(saved),
    }
  },
  planRead: (_context, rows) => ({
    what: 'load of all breakers',
    result: new Map([...rows].toSorted(([a], [b]) => byText(a, b))),
    call: async (store) => new Map([...(await BREAKERS.load(store))].toSorted(([a], [b]) => byText(a, b))),
  }),
  load: async ({ breakers }) => byBreakerId(await breakers.load()),
}

const keyOf = ({ series, start, node }: MetricsRow): string => `${series} ${start} ${node}`

const METRICS: TableKind = {
  name: 'metrics',
  hasLines: true,
  planChange({ choices, clock }, rows) {
    const stored = [...rows.values()] as MetricsRow[]
    if (stored.length > 0 && choices.chance(stored.length > 15 ? 0.4 : 0.1)) {
      const before = choices.pick(stored).start + choices.pick([0, 1])
      return {
        what: `expire before ${before}`,
        apply: (current) => {
          const old = ([...current.values()] as MetricsRow[]).filter(({ start }) => start < before)
          return { rows: new Map(old.map((row) => [keyOf(row), undefined])), result: old.length }
        },
        call: ({ metrics }) => metrics.expire(before),
      }
    }
    const planned = Array.from({ length: 1 + choices.below(3) }, () => ({
      series: choices.pick(['minute:total', 'minute:policy:mail', 'hour:sketch']),
      start: clock.now - (clock.now % 60_000) - choices.pick([0, 0, 60_000, DAY_MS]),
      node: choices.pick(['n0', 'n1']),
      data: { calls: choices.below(1000) },
    }))
    const saved = [...new Map(planned.map((row) => [keyOf(row), row])).values()]
    return {
      what: `save of ${saved.map(keyOf).join(', ')}`,
      apply: () => ({ rows: new Map(saved.map((row) => [keyOf(row), row])), result: undefined }),
      call: ({ metrics }) => metrics.save(saved),
    }
  },
  planRead({ choices, clock }, rows) {
    const stored = [...rows.values()] as MetricsRow[]
    const time = () => (stored.length > 0 ? choices.pick(stored).start : clock.now) + choices.pick([0, 1])
    const [from, to] = choices.chance(0.5) ? [0, 8.64e15] : [time(), time()]
    const prefix = choices.pick([undefined, 'minute:', 'hour:'])
    const result = stored
      .filter(({ series, start }) => start >= from && start < to && series.startsWith(prefix ?? ''))
      .toSorted((a, b) => a.start - b.start || byText(a.series, b.series) || byText(a.node, b.node))
    return {
      what: `load from ${from} to ${to} of ${prefix}`,
      result,
      call: ({ metrics }) => metrics.load({ from, to, ...(prefix !== undefined && { prefix }) }),
    }
  },
  load: async ({ metrics }) =>
    new Map((await metrics.load({ from: 0, to: 8.64e15 })).map((row) => [keyOf(row), row])),
}

/** The versions of the live changes are one row: an append depends on all of them. */
const ALL_VERSIONS = 'versions'

interface Version {
  readonly version: number
  readonly by: string
  readonly at: number
  readonly layer: unknown
}

const versionsOf = (rows: ReadonlyMap<string, unknown>): readonly Version[] =>
  (rows.get(ALL_VERSIONS) as readonly Version[] | undefined) ?? []

const change = (versions: readonly Version[]): ReadonlyMap<string, unknown> =>
  new Map([[ALL_VERSIONS, versions.length === 0 ? undefined : versions]])

export const LAYERS: TableKind = {
  name: 'layers',
  planChange({ choices, clock }, rows) {
    const versions = versionsOf(rows)
    const newest = versions.at(-1)?.version ?? 0
    const chance = choices.random()
    if (chance < 0.15) {
      const maxEntries = 1 + choices.below(4)
      const deleted = Math.max(0, versions.length - maxEntries)
      return {
        what: `expire to ${maxEntries}`,
        apply: (current) => {
          const stored = versionsOf(current)
          const count = Math.max(0, stored.length - maxEntries)
          return { rows: change(stored.slice(count)), result: count }
        },
        partialRows: Array.from({ length: deleted }, (_, count) => change(versions.slice(count))),
        call: ({ layers }) => layers.expire(maxEntries),
      }
    }
    const layer = { text: 'y'.repeat(choices.below(1200)), number: choices.below(1000) }
    if (chance < 0.3) {
      const version = choices.below(newest + 2)
      return {
        what: `rewrite of ${version}`,
        apply: (current) => ({
          rows: change(
            versionsOf(current).map((each) => (each.version === version ? { ...each, layer } : each)),
          ),
          result: undefined,
        }),
        call: ({ layers }) => layers.rewrite(version, layer),
      }
    }
    const after = choices.chance(0.8) ? newest : choices.below(newest + 2)
    const added = { version: after + 1, by: 'history', at: clock.now, layer }
    return {
      what: `append after ${after}`,
      apply: (current) => {
        const stored = versionsOf(current)
        const isAdded = after === (stored.at(-1)?.version ?? 0)
        return { rows: change(isAdded ? [...stored, added] : stored), result: isAdded }
      },
      call: ({ layers }) => layers.append({ ...added, at: new Date(added.at) }, after),
    }
  },
  planRead({ choices }, rows) {
    const versions = versionsOf(rows)
    if (choices.chance(0.5))
      return {
        what: 'latest',
        result: versions.at(-1),
        call: async ({ layers }) => {
          const latest = await layers.latest()
          return latest && { ...latest, at: latest.at.getTime() }
        },
      }
    return {
      what: 'history',
      result: versions,
      call: async (store) => versionsOf(await LAYERS.load(store)),
    }
  },
  load: async ({ layers }) =>
    change((await layers.history()).reverse().map((version) => ({ ...version, at: version.at.getTime() }))),
}

export const TABLE_KINDS: readonly TableKind[] = [VALUES, BREAKERS, METRICS, LAYERS]
