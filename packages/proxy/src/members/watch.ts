import { watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Clock, Duration, Member, Pool } from 'holdfast'
import { parseDuration, systemClock } from 'holdfast/internal'
import { credentialsOf } from '../connect/credentials.js'
import type { ProxyUpstream } from '../connect/upstream.js'
import { parseProxyList } from './list.js'

/** What a new version of the file changed, by the members' ids. */
export interface ProxyFileChanges {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** Those that are there as before, but elsewhere, with other credentials or other settings. */
  readonly replaced: readonly string[]
}

/** How a file of proxies is watched. */
export interface WatchOptions {
  /** How long the file must have been left alone before it is read. @defaultValue '100ms' */
  debounce?: Duration
  /** Hears what a new version changed. */
  onChange?: (changes: ProxyFileChanges) => void
  /** Hears why a new version was not taken; the members stay as they are. @defaultValue a warning of the process */
  onError?: (error: unknown) => void
  /** Where it takes its time from. @defaultValue the machine's clock */
  clock?: Clock
}

/** A file of proxies that is watched. */
export interface ProxyFileWatcher {
  /** Reads the file now; rejects where it cannot be read, and the members stay as they are. */
  reload(): Promise<ProxyFileChanges>
  /** Stops watching. The members stay. */
  close(): void
}

const warn = (error: unknown): void =>
  process.emitWarning(`a list of proxies was not reloaded: ${(error as Error).message}`)

/** Everything that makes a member what it is, credentials included; it is compared and never kept. */
const memberFingerprint = ({ value, ...rest }: Member<ProxyUpstream>): unknown[] => [
  rest,
  value.toString(),
  credentialsOf(value),
]

/**
 * Takes the proxies of a file into a pool, and follows the file: new ones are added, those that are gone removed, changed
 * ones replaced. Members that came from elsewhere are left alone. It watches the folder, so that a file that is renamed over
 * the old one is seen; it does not keep the process alive. A version that cannot be read changes nothing.
 *
 * @throws INVALID_OPTIONS where the file says something wrong, and the error of the file system where it is not there
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
  const own = new Map<string, Member<ProxyUpstream>>()
  let reading: Promise<unknown> = Promise.resolve()
  let timer: unknown
  let closed = false

  const read = async (): Promise<ProxyFileChanges> => {
    const members = parseProxyList(await readFile(file, 'utf8'))
    return closed ? { added: [], removed: [], replaced: [] } : applyFile(pool, own, members)
  }
  /** One at a time: the file may change while it is read. */
  const reload = (): Promise<ProxyFileChanges> => {
    const next = reading.then(read)
    reading = next.catch(() => {})
    return next
  }
  const changed = (): void => {
    clock.clearTimer(timer)
    timer = clock.setTimer(() => void reload().then(onChange, missed), parseDuration(debounce))
  }
  const missed = (error: unknown): void => {
    // Between the old file and the new one there may be none; its coming is heard of too.
    if (!closed && (error as NodeJS.ErrnoException).code !== 'ENOENT') onError(error)
  }

  await reload()
  const watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
    if (name === null || name === basename(file)) changed()
  })
  watcher.on('error', onError)
  return {
    reload,
    close() {
      closed = true
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
  const drop = (id: string): void => {
    fileMembers.delete(id)
    if (present.has(id)) pool.remove(id)
  }
  for (const id of fileMembers.keys())
    if (!wanted.has(id)) {
      drop(id)
      changes.removed.push(id)
    }
  for (const [id, member] of wanted) {
    const before = fileMembers.get(id)
    // One that an operator removed stays away while the file says the same of it.
    if (before !== undefined && isDeepStrictEqual(memberFingerprint(before), memberFingerprint(member)))
      continue
    // One that is there from elsewhere is not the file's to change.
    if (before === undefined && present.has(id)) continue
    if (before !== undefined) drop(id)
    pool.add(member)
    fileMembers.set(id, member)
    changes[before === undefined ? 'added' : 'replaced'].push(id)
  }
  return changes
}
