import { createOptionsError, createProblem, type OptionProblem } from 'holdfast/internal'
import { formatPath } from '../problems/format-value.js'
import type { Layer, WireMemberChange } from '../schema/layer.js'
import { type MemberChange, memberChangeCodec, memberChangeSchema } from '../schema/member-change.js'
import type { Config } from '../schema/schema.js'
import { expectedValue, walkPath } from '../schema/walk.js'

/** A member of a pool, as in the config file. */
export type MemberEntry = NonNullable<NonNullable<Config['pools']>[string]['members']>[number]

/** A pool member with the changes made through the API. */
export interface LayeredMember {
  /** The settings of the member. */
  readonly entry: MemberEntry
  /** False while the member is disabled or draining. */
  readonly isInUse: boolean
}

/** The id of a member. */
export const memberId = (entry: { id?: string | null | undefined; url: string }): string =>
  entry.id ?? new URL(entry.url).host

/**
 * The problem of a member id that would show credentials wherever it is used. The problem does not contain the id.
 */
export function idProblem(id: string): OptionProblem | undefined {
  const [, scheme = '', rest = ''] = /^([a-z][a-z\d+.-]*:\/\/)?(.*)$/is.exec(id) ?? []
  const url = scheme !== '' && URL.canParse(id) ? new URL(id) : undefined
  const open =
    url === undefined
      ? (scheme === '' ? /^[^\s/@]*:[^\s/]*@/ : /@/).test(rest)
      : url.username !== '' || url.password !== ''
  return open
    ? createProblem(
        'id',
        'invalid',
        'an id without credentials',
        'a url with a user or a password; set an id',
      )
    : undefined
}

/** The members of a pool with the changes made through the API; `below` are the members of the files. */
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
  // Members that were added through the API. A change of a member that the files no longer contain has no effect.
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

const createMemberError = (id: string, problems: readonly OptionProblem[]) =>
  createOptionsError(`the member ${JSON.stringify(id)} is not valid`, problems)

/** Checks a member change and converts it to its wire form. No message contains a url, which may contain a password. */
function toWireChange(id: string, input: MemberChange): WireMemberChange {
  const wire = memberChangeCodec.encode(input) as WireMemberChange
  const decoded = memberChangeCodec.safeDecode(wire)
  if (!decoded.success)
    throw createMemberError(
      id,
      decoded.error.issues.map((issue) => {
        const { path, schema } = walkPath(memberChangeSchema, issue.path.map(String), 'code')
        return createProblem(formatPath(path), 'invalid', expectedValue(schema, 'code'), 'another value')
      }),
    )
  return wire
}

/** Returns a layer with one more member. @throws INVALID_OPTIONS if it is not valid, or its id exists */
export function addMember(
  layer: Layer,
  pool: string,
  below: readonly MemberEntry[],
  { id, ...fields }: MemberChange & { id: string },
): Layer {
  if (layeredMembers(layer, pool, below).some(({ entry }) => memberId(entry) === id))
    throw createMemberError(id, [
      createProblem(
        'id',
        'conflict',
        `an id that no other member of the pool ${pool} has`,
        JSON.stringify(id),
      ),
    ])
  return withMember(layer, pool, id, toWireChange(id, fields))
}

/**
 * Returns a layer with a changed member; `below` are the members of the files. @throws INVALID_OPTIONS if it is not valid, or the
 * member does not exist, because another process has just removed it for example
 */
export function changeMember(
  layer: Layer,
  pool: string,
  below: readonly MemberEntry[],
  id: string,
  input: MemberChange,
): Layer {
  if (!layeredMembers(layer, pool, below).some(({ entry }) => memberId(entry) === id))
    throw createMemberError(id, [
      createProblem('id', 'invalid', `a member of the pool ${pool}`, JSON.stringify(id)),
    ])
  const existing = layer.pools?.[pool]?.members?.[id]
  return withMember(layer, pool, id, { ...existing, ...toWireChange(id, input) })
}

/** Returns a layer without a member. A member that was added is dropped, one of the files is marked as removed. */
export function removeMember(layer: Layer, pool: string, below: readonly MemberEntry[], id: string): Layer {
  if (below.some((entry) => memberId(entry) === id)) return withMember(layer, pool, id, null)
  const { [id]: _, ...others } = layer.pools?.[pool]?.members ?? {}
  return { ...layer, pools: { ...layer.pools, [pool]: { ...layer.pools?.[pool], members: others } } }
}
