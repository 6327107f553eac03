import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Actor, ValueStore } from '@holdfast/runtime'
import {
  createOptionsError,
  createProblem,
  type OptionProblem,
  optionProblem,
  systemClock,
} from 'holdfast/internal'
import { z } from 'zod'
import { type Caller, ROLES, type Role } from '../roles.js'
import type { HoldfastLike } from '../runtime-api.js'

const TOKEN_KEY_PREFIX = 'token:'

/** 256 random bits cannot be guessed, even without throttling. */
const TOKEN_BYTES = 32

const storedSchema = z.object({
  name: z.string(),
  role: z.enum(ROLES),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  created_at: z.string(),
})

type StoredToken = z.infer<typeof storedSchema>

/** The stored tokens, for {@link findCaller}. */
export type KnownTokens = readonly StoredToken[]

/** A token as it is listed, without the secret. */
export interface TokenInfo {
  /** The name of the token. */
  readonly name: string
  /** The role of callers with the token. */
  readonly role: Role
  /** When the token was created. */
  readonly createdAt: Date
}

/**
 * Tokens are hashed with one round of SHA-256. A slow password hash would not make 256 random bits harder to guess, and
 * every request would pay for it.
 */
const sha256 = (token: string): Buffer => createHash('sha256').update(token).digest()

/** The tokens of a store. */
export async function knownTokens(values: ValueStore): Promise<KnownTokens> {
  const found = await values.list(TOKEN_KEY_PREFIX)
  return found.flatMap(({ value }) => {
    const read = storedSchema.safeParse(value)
    return read.success ? [read.data] : []
  })
}

/** The store and the audit trail of tokens: a `Holdfast` is one. */
export type TokenKeeper = {
  /** The store of the tokens. */
  readonly store: { readonly values: ValueStore }
  /** The audit trail, which records each creation and revocation. */
  readonly audit: Pick<HoldfastLike['audit'], 'record'>
}

/**
 * Creates a token, stores its hash and writes an audit record with `by` and `reason`. The token itself is only in the
 * result.
 *
 * @throws INVALID_OPTIONS for a name that is not valid or already used, and for an unknown role
 *
 * @example
 * ```ts
 * import { Holdfast } from '@holdfast/runtime'
 * import { createToken, listTokens, revokeToken } from '@holdfast/server'
 *
 * const hf = await Holdfast.open({ config: { version: '1.2.0' } })
 * const { token } = await createToken(hf, { name: 'grafana', role: 'viewer', by: 'ann' })
 * token.startsWith('hft_') // => true
 * const [listed] = await listTokens(hf)
 * listed?.name // => 'grafana'
 * await createToken(hf, { name: 'grafana', role: 'admin' }) // throws INVALID_OPTIONS
 * await revokeToken(hf, 'grafana', { by: 'ann' }) // => true
 * const { items } = await hf.audit.list()
 * items.map(({ action, target, actor }) => [action, target, actor]) // => [['token.revoke', 'grafana', 'ann'], ['token.create', 'grafana', 'ann']]
 * await hf.close()
 * ```
 */
export async function createToken(
  { store: { values }, audit }: TokenKeeper,
  options: { name: string; role: Role; now?: Date | undefined } & Actor,
): Promise<{ token: string } & TokenInfo> {
  const { name, role, by, reason } = options
  const problems: OptionProblem[] = []
  if (typeof name !== 'string' || !/^[\w.@-]{1,64}$/.test(name))
    problems.push(optionProblem('name', '1 to 64 letters, digits, _ . @ or -', name))
  else if ((await values.get(TOKEN_KEY_PREFIX + name)) !== undefined)
    problems.push(
      createProblem('name', 'conflict', 'a name that no other token has', `${name}, which already exists`),
    )
  if (!ROLES.includes(role)) problems.push(optionProblem('role', `one of ${ROLES.join(', ')}`, role))
  if (problems.length > 0) throw createOptionsError('invalid token', problems)
  const token = `hft_${randomBytes(TOKEN_BYTES).toString('base64url')}`
  const createdAt = options.now ?? new Date(systemClock.wall())
  const stored: StoredToken = {
    name,
    role,
    sha256: sha256(token).toString('hex'),
    created_at: createdAt.toISOString(),
  }
  await values.set(TOKEN_KEY_PREFIX + name, stored)
  await audit.record({ by, reason }, 'token.create', name, { after: { role } })
  return { token, name, role, createdAt }
}

/** All tokens by name, without their secrets. */
export async function listTokens({ store }: Pick<TokenKeeper, 'store'>): Promise<TokenInfo[]> {
  const found = await knownTokens(store.values)
  return found.map(({ name, role, created_at }) => ({ name, role, createdAt: new Date(created_at) }))
}

/** The role of a token that is created without one. The first is admin, because no caller could create another one otherwise. */
export const defaultRoleOf = (known: readonly unknown[]): Role => (known.length === 0 ? 'admin' : 'viewer')

/** Whether no other token has the role admin, although there are others. */
export function isLastAdmin(name: string, known: readonly Pick<TokenInfo, 'name' | 'role'>[]): boolean {
  const others = known.filter((token) => token.name !== name)
  const isAdmin = known.some((token) => token.name === name && token.role === 'admin')
  return isAdmin && others.length > 0 && !others.some(({ role }) => role === 'admin')
}

/** The warning after the last token with the role admin was revoked. */
export const lastAdminWarning = (name: string): string =>
  `${name} was the last token with the role admin: only holdfast token create on the machine of the server can create another one`

/** Revokes a token at once and writes an audit record. Returns false if no token has this name. */
export async function revokeToken(
  { store: { values }, audit }: TokenKeeper,
  name: string,
  actor: Actor = {},
): Promise<boolean> {
  const key = TOKEN_KEY_PREFIX + name
  const known = storedSchema.safeParse(await values.get(key))
  if (!known.success) return false
  await values.delete(key)
  await audit.record(actor, 'token.revoke', name, { before: { role: known.data.role } })
  return true
}

/** The stored token that a token matches; undefined where the token is not known. */
export function findToken(known: KnownTokens, token: string): KnownTokens[number] | undefined {
  const hash = sha256(token)
  let found: KnownTokens[number] | undefined
  // Every token is compared in constant time, so that the duration reveals nothing.
  for (const one of known) if (timingSafeEqual(Buffer.from(one.sha256, 'hex'), hash)) found = one
  return found
}

/** The caller with a token. */
export const callerOf = ({ name, role }: KnownTokens[number]): Caller => ({ name, role, token: true })

/** The caller that a token belongs to; undefined where the token is not known. */
export function findCaller(known: KnownTokens, token: string | undefined): Caller | undefined {
  const found = token === undefined ? undefined : findToken(known, token)
  return found && callerOf(found)
}
