import { HoldfastError } from 'holdfast'
import { formatPath } from '../problem.js'
import type { Layer, WireMemberChange } from '../schema/layer.js'
import { type MemberChange, memberChangeCodec, memberChangeSchema } from '../schema/member-change.js'
import type { Config } from '../schema/schema.js'
import { expectedValue, walkPath } from '../schema/walk.js'

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
    members.push(change === undefined ? { entry, isInUse: true } : applyMemberChange(id, entry, change))
  }
  // Those that the files do not have: what was only changed of one that they no longer have is of no use.
  for (const [id, change] of changes) if (change?.url) members.push(applyMemberChange(id, undefined, change))
  return members
}

function applyMemberChange(
  id: string,
  below: MemberEntry | undefined,
  change: WireMemberChange,
): LayeredMember {
  const { enabled, draining, ...fields } = memberChangeCodec.decode(change)
  const merged = fields.url === undefined ? below : undefined
  return {
    entry: { ...merged, ...fields, id } as MemberEntry,
    isInUse: enabled !== false && draining !== true,
  }
}

const withMember = (layer: Layer, pool: string, id: string, change: WireMemberChange | null): Layer => ({
  ...layer,
  pools: {
    ...layer.pools,
    [pool]: { ...layer.pools?.[pool], members: { ...layer.pools?.[pool]?.members, [id]: change } },
  },
})

const createMemberError = (id: string, problems: readonly string[]) =>
  new HoldfastError('INVALID_OPTIONS', `the member ${JSON.stringify(id)} is wrong: ${problems.join('; ')}`, {
    details: problems,
  })

/** What is given of a member, checked and in the wire's spelling. No message repeats a url, which may hold a password. */
function toWireChange(id: string, input: MemberChange): WireMemberChange {
  const wire = memberChangeCodec.encode(input) as WireMemberChange
  const decoded = memberChangeCodec.safeDecode(wire)
  if (!decoded.success)
    throw createMemberError(
      id,
      decoded.error.issues.map((issue) => {
        const { path, schema } = walkPath(memberChangeSchema, issue.path.map(String), 'code')
        return `${formatPath(path)}: takes ${expectedValue(schema, 'code')}`
      }),
    )
  return wire
}

/** A layer with one more member. @throws INVALID_OPTIONS where it is wrong, or its id is another's */
export function addMember(
  layer: Layer,
  pool: string,
  below: readonly MemberEntry[],
  { id, ...fields }: MemberChange & { id: string },
): Layer {
  if (layeredMembers(layer, pool, below).some(({ entry }) => memberId(entry) === id))
    throw createMemberError(id, [`id: the pool ${pool} has a member of that name already`])
  return withMember(layer, pool, id, toWireChange(id, fields))
}

/** A layer with something changed of a member. */
export function changeMember(layer: Layer, pool: string, id: string, input: MemberChange): Layer {
  const existing = layer.pools?.[pool]?.members?.[id]
  return withMember(layer, pool, id, { ...existing, ...toWireChange(id, input) })
}

/** A layer without a member: one that was added is dropped, one of the files is noted as removed. */
export function removeMember(layer: Layer, pool: string, below: readonly MemberEntry[], id: string): Layer {
  if (below.some((entry) => memberId(entry) === id)) return withMember(layer, pool, id, null)
  const { [id]: _, ...others } = layer.pools?.[pool]?.members ?? {}
  return { ...layer, pools: { ...layer.pools, [pool]: { ...layer.pools?.[pool], members: others } } }
}
