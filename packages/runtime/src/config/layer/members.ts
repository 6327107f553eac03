import { HoldfastError } from 'holdfast'
import { pathText } from '../problem.js'
import type { Config } from '../schema/schema.js'
import { follow, takesOf } from '../schema/walk.js'
import type { Layer, WireMemberChange } from './layer.js'
import { type MemberChange, memberChangeCodec, memberChangeSchema } from './member-schema.js'

export type MemberEntry = NonNullable<NonNullable<Config['pools']>[string]['members']>[number]

/** A member as it is in force. */
export interface LayeredMember {
  readonly entry: MemberEntry
  /** False where no calls are sent to it: it is disabled, or draining. */
  readonly isInUse: boolean
}

/** What a member is called. */
export const memberId = (entry: { id?: string | null | undefined; url: string }): string =>
  entry.id ?? new URL(entry.url).host

/**
 * What is wrong with the id of a member, in words: credentials in it would be shown wherever it is named. The words do not
 * repeat it.
 */
export function idProblem(id: string): string | undefined {
  const [, scheme = '', rest = ''] = /^([a-z][a-z\d+.-]*:\/\/)?(.*)$/is.exec(id) ?? []
  const url = scheme !== '' && URL.canParse(id) ? new URL(id) : undefined
  const open =
    url === undefined
      ? (scheme === '' ? /^[^\s/@]*:[^\s/]*@/ : /@/).test(rest)
      : url.username !== '' || url.password !== ''
  return open ? 'got a url with a user or a password in it; give the member an id of its own' : undefined
}

/** The members of a pool with the changes made through the API; `below` are those of the files. */
export function layeredMembers(layer: Layer, pool: string, below: readonly MemberEntry[]): LayeredMember[] {
  const changes = new Map(Object.entries(layer.pools?.[pool]?.members ?? {}))
  if (changes.size === 0) return below.map((entry) => ({ entry, isInUse: true }))
  const members: LayeredMember[] = []
  for (const entry of below) {
    const id = memberId(entry)
    const change = changes.get(id)
    changes.delete(id)
    if (change === null) continue
    members.push(change === undefined ? { entry, isInUse: true } : changed(id, entry, change))
  }
  // Those that the files do not have: what was only changed of one that they no longer have is of no use.
  for (const [id, change] of changes) if (change?.url) members.push(changed(id, undefined, change))
  return members
}

function changed(id: string, below: MemberEntry | undefined, change: WireMemberChange): LayeredMember {
  const { enabled, draining, ...said } = memberChangeCodec.decode(change)
  const whole = said.url === undefined ? below : undefined
  return { entry: { ...whole, ...said, id } as MemberEntry, isInUse: enabled !== false && draining !== true }
}

const withMember = (layer: Layer, pool: string, id: string, change: WireMemberChange | null): Layer => ({
  ...layer,
  pools: {
    ...layer.pools,
    [pool]: { ...layer.pools?.[pool], members: { ...layer.pools?.[pool]?.members, [id]: change } },
  },
})

const wrong = (id: string, problems: readonly string[]) =>
  new HoldfastError('INVALID_OPTIONS', `the member ${JSON.stringify(id)} is wrong: ${problems.join('; ')}`, {
    details: problems,
  })

/** What is given of a member, checked and in the wire's spelling. No message repeats a url, which may hold a password. */
function wireOf(id: string, given: MemberChange): WireMemberChange {
  const wire = memberChangeCodec.encode(given) as WireMemberChange
  const read = memberChangeCodec.safeDecode(wire)
  if (!read.success)
    throw wrong(
      id,
      read.error.issues.map((issue) => {
        const { path, schema } = follow(memberChangeSchema, issue.path.map(String), 'code')
        return `${pathText(path)}: takes ${takesOf(schema, 'code')}`
      }),
    )
  return wire
}

/** A layer with one more member. @throws INVALID_OPTIONS where it is wrong, or its id is another's */
export function addMember(
  layer: Layer,
  pool: string,
  below: readonly MemberEntry[],
  { id, ...given }: MemberChange & { id: string },
): Layer {
  if (layeredMembers(layer, pool, below).some(({ entry }) => memberId(entry) === id))
    throw wrong(id, [`id: the pool ${pool} has a member of that name already`])
  return withMember(layer, pool, id, wireOf(id, given))
}

/** A layer with something changed of a member. */
export function changeMember(layer: Layer, pool: string, id: string, given: MemberChange): Layer {
  const known = layer.pools?.[pool]?.members?.[id]
  return withMember(layer, pool, id, { ...known, ...wireOf(id, given) })
}

/** A layer without a member: one that was added is dropped, one of the files is noted as removed. */
export function removeMember(layer: Layer, pool: string, below: readonly MemberEntry[], id: string): Layer {
  if (below.some((entry) => memberId(entry) === id)) return withMember(layer, pool, id, null)
  const { [id]: _, ...others } = layer.pools?.[pool]?.members ?? {}
  return { ...layer, pools: { ...layer.pools, [pool]: { ...layer.pools?.[pool], members: others } } }
}
