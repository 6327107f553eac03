import { watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Clock, Duration, Member, Pool } from 'holdfast'
import { parseDuration, systemClock } from 'holdfast/internal'
import { credentialsOf } from '../connect/credentials.js'
import type { ProxyUpstream } from '../connect/upstream.js'
import { parseProxyList } from './list.js'

/** The changes of a new version of the file, by the ids of members. */
export interface ProxyFileChanges {
  /** Members that the previous version did not have. */
  readonly added: readonly string[]
  /** Members that the new version does not have. */
  readonly removed: readonly string[]
  /** Members whose address, credentials or settings have changed. */
  readonly replaced: readonly string[]
}

/** The options of `watchProxyFile`. */
export interface WatchOptions {
  /** How long the file must be unchanged before it is read. @defaultValue '100ms' */
  debounce?: Duration
  /** Called with the changes of a new version. */
  onChange?: (changes: ProxyFileChanges) => void
  /** Called with the error of a version that cannot be used; the members do not change. @defaultValue a process warning */
  onError?: (error: unknown) => void
  /** The source of time. @defaultValue the system clock */
  clock?: Clock
}

/** A watched file of proxies. */
export interface ProxyFileWatcher {
  /** Reads the file now. Rejects if it cannot be read; the members do not change then. */
  reload(): Promise<ProxyFileChanges>
  /** Stops watching. The members stay in the pool. */
  close(): void
}

const warn = (error: unknown): void =>
  process.emitWarning(`the list of proxies was not reloaded: ${(error as Error).message}`)

/** The identity of a member, credentials included. It is only compared and never stored. */
const memberFingerprint = ({ value, ...rest }: Member<ProxyUpstream>): unknown[] => [
  rest,
  value.toString(),
  credentialsOf(value),
]

/**
 * Adds the proxies of a file to a pool and watches the file: new proxies are added, missing ones are removed, changed ones
 * are replaced. Other members of the pool do not change. The folder is watched, so that a file that is renamed over the old
 * one is noticed; watching does not keep the process alive. A version that cannot be read changes nothing.
 *
 * @throws INVALID_OPTIONS if the file is not valid, and the error of the file system if it cannot be read
 *
 * @example
 * ```ts
 * import { mkdtemp, writeFile } from 'node:fs/promises'
 * import { tmpdir } from 'node:os'
 * import { join } from 'node:path'
 * import { proxyPool, watchProxyFile } from '@holdfast/proxy'
 *
 * const file = join(await mkdtemp(join(tmpdir(), 'proxies-')), 'proxies.txt')
 * await writeFile(file, 'http://p1.example:8080\nhttp://p2.example:8080')
 * const pool = proxyPool({ id: 'proxies' })
 * const watcher = await watchProxyFile(file, pool)
 * pool.size // => 2
 * await writeFile(file, 'http://p2.example:8080')
 * await watcher.reload() // => { added: [], removed: ['p1.example:8080'], replaced: [] }
 * watcher.close()
 * ```
 */
export async function watchProxyFile(
  path: string,
  pool: Pool<ProxyUpstream>,
  options: WatchOptions = {},
): Promise<ProxyFileWatcher> {
  const { debounce = '100ms', onChange, onError = warn, clock = systemClock } = options
  const file = resolve(path)
  const fileMembers = new Map<string, Member<ProxyUpstream>>()
  let reading: Promise<unknown> = Promise.resolve()
  let timer: unknown
  let isClosed = false

  const read = async (): Promise<ProxyFileChanges> => {
    const members = parseProxyList(await readFile(file, 'utf8'))
    return isClosed ? { added: [], removed: [], replaced: [] } : applyFile(pool, fileMembers, members)
  }
  // Reads are serialized, because the file can change while it is read.
  const reload = (): Promise<ProxyFileChanges> => {
    const next = reading.then(read)
    reading = next.catch(() => {})
    return next
  }
  const scheduleReload = (): void => {
    clock.clearTimer(timer)
    timer = clock.setTimer(() => void reload().then(onChange, onReloadError), parseDuration(debounce))
  }
  const onReloadError = (error: unknown): void => {
    // The file can be missing for a moment while it is replaced; its creation triggers another reload.
    if (!isClosed && (error as NodeJS.ErrnoException).code !== 'ENOENT') onError(error)
  }

  await reload()
  const watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
    if (name === null || name === basename(file)) scheduleReload()
  })
  watcher.on('error', onError)
  return {
    reload,
    close() {
      isClosed = true
      watcher.close()
      clock.clearTimer(timer)
    },
  }
}

function applyFile(
  pool: Pool<ProxyUpstream>,
  fileMembers: Map<string, Member<ProxyUpstream>>,
  members: readonly Member<ProxyUpstream>[],
): ProxyFileChanges {
  const changes = { added: [] as string[], removed: [] as string[], replaced: [] as string[] }
  const present = new Set(pool.members().map(({ id }) => id))
  const wanted = new Map(members.map((member) => [member.id, member]))
  const removeMember = (id: string): void => {
    fileMembers.delete(id)
    if (present.has(id)) pool.remove(id)
  }
  for (const id of fileMembers.keys())
    if (!wanted.has(id)) {
      removeMember(id)
      changes.removed.push(id)
    }
  for (const [id, member] of wanted) {
    const before = fileMembers.get(id)
    // A member that an operator removed is not added again as long as its entry is unchanged.
    if (before !== undefined && isDeepStrictEqual(memberFingerprint(before), memberFingerprint(member)))
      continue
    // A member that was added by other means is not changed by the file.
    if (before === undefined && present.has(id)) continue
    if (before !== undefined) removeMember(id)
    pool.add(member)
    fileMembers.set(id, member)
    changes[before === undefined ? 'added' : 'replaced'].push(id)
  }
  return changes
}
