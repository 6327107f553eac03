import { readFile } from 'node:fs/promises'
import { errorMessageOf } from '@holdfast/records'
import { type ParsedMember, parseMemberList } from 'holdfast/internal'
import { idProblem, type MemberEntry } from '../members/members.js'
import { createConfigInvalid } from '../problem.js'
import type { RuntimeContext } from '../runtime-context.js'
import type { Config } from '../schema/schema.js'
import { createFileWatcher, type FileWatcher } from './watch.js'

/** The members that files list, by pool. */
export type FileMembers = ReadonlyMap<string, readonly MemberEntry[]>

const SUPPORTED_SCHEMES = new Set(['http:', 'https:', 'socks5:', 'socks5h:'])

function toMemberEntry(listed: ParsedMember): MemberEntry {
  const { url, tags, id, weight, region, cost } = listed
  if (!URL.canParse(url) || !SUPPORTED_SCHEMES.has(new URL(url).protocol))
    throw new Error('takes a url that begins with http://, https://, socks5:// or socks5h://')
  const problem = id === undefined ? undefined : idProblem(id)
  if (problem !== undefined) throw new Error(`id: ${problem}`)
  return {
    url,
    ...(id !== undefined && { id }),
    ...(weight !== undefined && { weight }),
    ...(region !== undefined && { region }),
    ...(cost !== undefined && { cost }),
    ...(tags && { tags: [...tags] }),
  }
}

/** The members of a list. One that another has the host of is told apart by a number. */
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
  /** A path of the file, which begins where the file lies. */
  resolvePath(path: string): string
  /** A file lists other members. */
  onChanged(pool: string, members: readonly MemberEntry[]): void
}

/** The files that list members of pools: read with the configuration, and followed on their own. */
export class MemberFiles {
  private readonly parts: MemberFilesParts
  private watchers: FileWatcher[] = []

  constructor(parts: MemberFilesParts) {
    this.parts = parts
  }

  /** Reads the files that a configuration names. @throws CONFIG_INVALID that names each that cannot be read */
  async read({ pools = {} }: Config): Promise<FileMembers> {
    const listed = new Map<string, readonly MemberEntry[]>()
    const problems: { path: string; message: string }[] = []
    for (const [pool, { membersFile }] of Object.entries(pools)) {
      if (membersFile === undefined) continue
      try {
        listed.set(pool, parseMembers(await readFile(this.parts.resolvePath(membersFile), 'utf8')))
      } catch (error) {
        problems.push({
          path: `pools.${pool}.members_file`,
          message: `cannot be read: ${errorMessageOf(error)}`,
        })
      }
    }
    if (problems.length > 0) throw createConfigInvalid('the members of pools', problems)
    return listed
  }

  /** Follows the files of a configuration, and no others. */
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

  /** A file was not taken: that is told of and written down as for the configuration. */
  private reportRejected(pool: string, file: string, error: unknown): void {
    const { runtime } = this.parts
    const by = 'file'
    const reason = runtime.redact(errorMessageOf(error))
    this.warnAbout(pool, error)
    runtime.emit({ eventType: 'config_rejected', component: 'config', context: { pool, file, by, reason } })
    void runtime.audit({ by }, 'config.reject', file, { after: { reason } })
  }

  private warnAbout(pool: string, error: unknown): void {
    this.parts.runtime.warn(`the members of pool ${pool} stay as they are: ${errorMessageOf(error)}`)
  }

  close(): void {
    for (const watch of this.watchers) watch.close()
    this.watchers = []
  }
}
