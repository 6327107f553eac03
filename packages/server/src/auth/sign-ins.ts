import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { DAY_MS } from '@holdfast/records/constants'
import type { ValueStore } from '@holdfast/runtime'
import { z } from 'zod'
import type { Caller } from '../roles.js'
import { callerOf, findToken, type KnownTokens, knownTokens } from './tokens.js'

const SIGN_IN_KEY_PREFIX = 'sign_in:'

/** 256 random bits, as many as a token has. */
const SECRET_BYTES = 32

/** How long a browser stays signed in that the user wants to keep signed in. */
export const KEPT_SIGN_IN_MS = 30 * DAY_MS

/** The longest sign-in of a browser that ends it when it is closed. Browsers that restore their tabs never end it. */
const BROWSER_SIGN_IN_MS = DAY_MS

/** The maximum number of sign-ins of a token. Each one is stored until it ends. */
const MAX_SIGN_INS = 100

const storedSchema = z.object({
  /** The hash of the token. A token that is revoked and created again with the same name has another one. */
  token_sha256: z.string(),
  expires_at: z.iso.datetime(),
})

/** The sign-ins that are stored, by the hash of their secret. */
type KnownSignIns = ReadonlyMap<string, z.infer<typeof storedSchema>>

/** The tokens and sign-ins of a store. */
export interface KnownCredentials {
  readonly tokens: KnownTokens
  readonly signIns: KnownSignIns
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

async function listSignIns(values: ValueStore): Promise<KnownSignIns> {
  const found = await values.list(SIGN_IN_KEY_PREFIX)
  return new Map(
    found.flatMap(({ key, value }) => {
      const read = storedSchema.safeParse(value)
      return read.success ? [[key.slice(SIGN_IN_KEY_PREFIX.length), read.data] as const] : []
    }),
  )
}

export const knownCredentials = async (values: ValueStore): Promise<KnownCredentials> => ({
  tokens: await knownTokens(values),
  signIns: await listSignIns(values),
})

/** The caller of a stored sign-in; undefined where it has expired or its token was revoked. */
function callerOfSignIn(stored: unknown, tokens: KnownTokens, now: number): Caller | undefined {
  const read = storedSchema.safeParse(stored)
  if (!read.success || Date.parse(read.data.expires_at) <= now) return undefined
  const token = tokens.find((one) => one.sha256 === read.data.token_sha256)
  return token && callerOf(token)
}

/** The caller that is signed in with a secret, from credentials that were read before. */
export const findSignedIn = (
  { tokens, signIns }: KnownCredentials,
  secret: string,
  now: number,
): Caller | undefined => callerOfSignIn(signIns.get(sha256(secret)), tokens, now)

/** The caller that is signed in with a secret. The store finds it by its hash, so that the duration reveals nothing. */
export const readSignedIn = async (
  values: ValueStore,
  tokens: KnownTokens,
  secret: string,
  now: number,
): Promise<Caller | undefined> =>
  callerOfSignIn(await values.get(SIGN_IN_KEY_PREFIX + sha256(secret)), tokens, now)

/**
 * Deletes sign-ins that have expired or whose token was revoked, and those of one token that end first if it has too many for
 * another one.
 */
async function makeRoom(
  values: ValueStore,
  tokens: KnownTokens,
  tokenHash: string,
  now: number,
): Promise<void> {
  const found = [...(await listSignIns(values))]
  const ended = found.filter(([, stored]) => callerOfSignIn(stored, tokens, now) === undefined)
  const ofToken = found
    .filter((signIn) => signIn[1].token_sha256 === tokenHash && !ended.includes(signIn))
    .toSorted(([, a], [, b]) => Date.parse(a.expires_at) - Date.parse(b.expires_at))
  const excess = ofToken.slice(0, Math.max(0, ofToken.length - MAX_SIGN_INS + 1))
  for (const [hash] of [...ended, ...excess]) await values.delete(SIGN_IN_KEY_PREFIX + hash)
}

/** Signs in with a token. Only the hash of the returned secret is stored. Returns undefined for an unknown token. */
export async function createSignIn(
  values: ValueStore,
  tokens: KnownTokens,
  options: { token: string; isKept: boolean; now: number },
): Promise<string | undefined> {
  const { token, isKept, now } = options
  const known = findToken(tokens, token)
  if (known === undefined) return undefined
  await makeRoom(values, tokens, known.sha256, now)
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  await values.set(SIGN_IN_KEY_PREFIX + sha256(secret), {
    token_sha256: known.sha256,
    expires_at: new Date(now + (isKept ? KEPT_SIGN_IN_MS : BROWSER_SIGN_IN_MS)).toISOString(),
  })
  return secret
}

/** Signs out. */
export const deleteSignIn = (values: ValueStore, secret: string): Promise<void> =>
  values.delete(SIGN_IN_KEY_PREFIX + sha256(secret))

/** The token against cross-site request forgery of a sign-in. A page of another origin cannot read or compute it. */
export const csrfTokenOf = (secret: string): string =>
  createHash('sha256').update(`csrf:${secret}`).digest('base64url')

/** Compares a CSRF token in constant time. */
export function isCsrfTokenOf(secret: string, given: string | undefined): boolean {
  const [expected, actual] = [csrfTokenOf(secret), given ?? ''].map((text) =>
    createHash('sha256').update(text).digest(),
  ) as [Buffer, Buffer]
  return timingSafeEqual(expected, actual)
}
