import { readFile } from 'node:fs/promises'
import { errorMessageOf } from '@holdfast/records'
import { formatProblem, type ParsedMember, parseMemberList } from 'holdfast/internal'
import { idProblem, type MemberEntry } from '../members/members.js'
import { createConfigInvalid } from '../problems/describe.js'
import type { ConfigProblem } from '../problems/problem.js'
import type { RuntimeContext } from '../runtime-context.js'
import type { Config } from '../schema/schema.js'
import { createFileWatcher, type FileWatcher } from './watch.js'

/** The members of member files, by pool. */
export type FileMembers = ReadonlyMap<string, readonly MemberEntry[]>

const SUPPORTED_SCHEMES = new Set(['http:', 'https:', 'socks5:', 'socks5h:'])

function toMemberEntry(listed: ParsedMember): MemberEntry {
  const { url, tags, id, weight, region, cost } = listed
  if (!URL.canParse(url) || !SUPPORTED_SCHEMES.has(new URL(url).protocol))
    throw new Error('expected a url that begins with http://, https://, socks5:// or socks5h://')
  const problem = id === undefined ? undefined : idProblem(id)
  if (problem !== undefined) throw new Error(formatProblem(problem))
  return {
    url,
    ...(id !== undefined && { id }),
    ...(weight !== undefined && { weight }),
    ...(region !== undefined && { region }),
    ...(cost !== undefined && { cost }),
    ...(tags && { tags: [...tags] }),
  }
}

/** Parses a list of members. Members with the same host get a number. */
function parseMembers(text: string): MemberEntry[] {
  const ids = new Map<string, number>()
  return parseMemberList(text, (listed) => {
    const entry = toMemberEntry(listed)
    const id = entry.id ?? new URL(entry.url).host
    const count = (ids.get(id) ?? 0) + 1
    ids.set(id, count)
    return count === 1 ? { ...entry, id } : { ...entry, id: `${id}#${count}` }
  })
}

export interface MemberFilesParts {
  runtime: RuntimeContext
  /** Resolves a path relative to the folder of the config file. */
  resolvePath(path: string): string
  /** The members of a file changed. */
  onChanged(pool: string, members: readonly MemberEntry[]): void
}

/** The member files of pools. They are read with the configuration and watched separately. */
export class MemberFiles {
  private readonly parts: MemberFilesParts
  private watchers: FileWatcher[] = []

  constructor(parts: MemberFilesParts) {
    this.parts = parts
  }

  /** Reads the files that a configuration names. @throws CONFIG_INVALID that lists each file that cannot be read */
  async read({ pools = {} }: Config): Promise<FileMembers> {
    const listed = new Map<string, readonly MemberEntry[]>()
    const problems: ConfigProblem[] = []
    for (const [pool, { membersFile }] of Object.entries(pools)) {
      if (membersFile === undefined) continue
      try {
        listed.set(pool, parseMembers(await readFile(this.parts.resolvePath(membersFile), 'utf8')))
      } catch (error) {
        problems.push({
          path: `pools.${pool}.members_file`,
          code: 'not_readable',
          expected: 'a list of members',
          got: errorMessageOf(error),
        })
      }
    }
    if (problems.length > 0) throw createConfigInvalid('the members of pools', problems)
    return listed
  }

  /** Watches exactly the files of a configuration. */
  watchFiles({ pools = {} }: Config): void {
    const { runtime, resolvePath, onChanged } = this.parts
    this.close()
    for (const [pool, { membersFile }] of Object.entries(pools)) {
      if (membersFile === undefined) continue
      const file = resolvePath(membersFile)
      const onError = (error: unknown) => this.warnAbout(pool, error)
      const onChange = (text: string) => {
        try {
          onChanged(pool, parseMembers(text))
        } catch (error) {
          this.reportRejected(pool, file, error)
        }
      }
      this.watchers.push(createFileWatcher(file, { clock: runtime.clock, onChange, onError }))
    }
  }

  /** Reports a rejected file by an event and an audit record, as for the configuration. */
  private reportRejected(pool: string, file: string, error: unknown): void {
    const { runtime } = this.parts
    const by = 'file'
    const reason = runtime.redact(errorMessageOf(error))
    this.warnAbout(pool, error)
    runtime.emit({ eventType: 'config_rejected', component: 'config', context: { pool, file, by, reason } })
    void runtime.audit({ by }, 'config.reject', file, { after: { reason } })
  }

  private warnAbout(pool: string, error: unknown): void {
    this.parts.runtime.warn(`the members of pool ${pool} are not changed: ${errorMessageOf(error)}`)
  }

  close(): void {
    for (const watch of this.watchers) watch.close()
    this.watchers = []
  }
}
