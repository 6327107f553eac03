import { readFile } from 'node:fs/promises'
import { type ParsedMember, parseMemberList } from 'holdfast/internal'
import { type Watch, watchConfig } from '../config/file/watch.js'
import { idProblem, type MemberEntry } from '../config/layer/members.js'
import { configInvalid } from '../config/problem.js'
import type { Config } from '../config/schema/schema.js'
import type { Kit } from '../kit.js'
import { messageOf } from '../records/summary.js'

/** The members that files list, by pool. */
export type Listed = ReadonlyMap<string, readonly MemberEntry[]>

const SCHEMES = new Set(['http:', 'https:', 'socks5:', 'socks5h:'])

function entryOf(listed: ParsedMember): MemberEntry {
  const { url, tags, id, weight, region, cost } = listed
  if (!URL.canParse(url) || !SCHEMES.has(new URL(url).protocol))
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
function membersOf(text: string): MemberEntry[] {
  const ids = new Map<string, number>()
  return parseMemberList(text, (listed) => {
    const entry = entryOf(listed)
    const id = entry.id ?? new URL(entry.url).host
    const count = (ids.get(id) ?? 0) + 1
    ids.set(id, count)
    return count === 1 ? { ...entry, id } : { ...entry, id: `${id}#${count}` }
  })
}

export interface MemberFilesParts {
  kit: Kit
  /** A path of the file, which begins where the file lies. */
  path(path: string): string
  /** A file lists other members. */
  changed(pool: string, members: readonly MemberEntry[]): void
}

/** The files that list members of pools: read with the configuration, and followed on their own. */
export class MemberFiles {
  private readonly parts: MemberFilesParts
  private watches: Watch[] = []

  constructor(parts: MemberFilesParts) {
    this.parts = parts
  }

  /** Reads the files that a configuration names. @throws CONFIG_INVALID that names each that cannot be read */
  async read({ pools = {} }: Config): Promise<Listed> {
    const listed = new Map<string, readonly MemberEntry[]>()
    const problems: { path: string; message: string }[] = []
    for (const [pool, { membersFile }] of Object.entries(pools)) {
      if (membersFile === undefined) continue
      try {
        listed.set(pool, membersOf(await readFile(this.parts.path(membersFile), 'utf8')))
      } catch (error) {
        problems.push({ path: `pools.${pool}.members_file`, message: `cannot be read: ${messageOf(error)}` })
      }
    }
    if (problems.length > 0) throw configInvalid('the members of pools', problems)
    return listed
  }

  /** Follows the files of a configuration, and no others. */
  follow({ pools = {} }: Config): void {
    const { kit, path, changed } = this.parts
    this.close()
    for (const [pool, { membersFile }] of Object.entries(pools)) {
      if (membersFile === undefined) continue
      const file = path(membersFile)
      const onError = (error: unknown) => this.complain(pool, error)
      const onChange = (text: string) => {
        try {
          changed(pool, membersOf(text))
        } catch (error) {
          this.reject(pool, file, error)
        }
      }
      this.watches.push(watchConfig(file, { clock: kit.clock, onChange, onError }))
    }
  }

  /** A file was not taken: that is told of and written down as for the configuration. */
  private reject(pool: string, file: string, error: unknown): void {
    const { kit } = this.parts
    const by = 'file'
    const reason = kit.redact(messageOf(error))
    this.complain(pool, error)
    kit.emit({ eventType: 'config_rejected', component: 'config', context: { pool, file, by, reason } })
    void kit.audit({ by }, 'config.reject', file, { after: { reason } })
  }

  private complain(pool: string, error: unknown): void {
    this.parts.kit.complain(`the members of pool ${pool} stay as they are: ${messageOf(error)}`)
  }

  close(): void {
    for (const watch of this.watches) watch.close()
    this.watches = []
  }
}
