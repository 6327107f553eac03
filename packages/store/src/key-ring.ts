import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { HoldfastError } from 'holdfast'
import { createOptionsError, createProblem, type OptionProblem } from 'holdfast/internal'
import { isEncrypted, ENCRYPTED as MARK } from './payload.js'

const CIPHER = 'aes-256-gcm'

/** Node.js accepts shorter tags unless the length is given, and these can be guessed. */
const TAG_BYTES = 16

/** A payload as it is stored under a key. */
interface EncryptedPayload {
  readonly [MARK]: typeof CIPHER
  /** The id of the key. */
  readonly kid: string
  readonly iv: string
  readonly tag: string
  readonly data: string
}

/** A payload that is not encrypted but has the mark of an encrypted one. It is wrapped, so that the two cannot be confused. */
interface UnencryptedPayload {
  readonly [MARK]: 'none'
  readonly data: unknown
}

interface EncryptionKey {
  readonly kid: string
  readonly bytes: Buffer
}

const isEncryptedOrMarked = (payload: unknown): payload is EncryptedPayload | UnencryptedPayload =>
  isEncrypted(payload)

/** The form of a key, in words. */
export const KEY_FORMAT = '32 bytes as base64 or hexadecimal digits'

/** The texts of the keys in the value of an option. */
const keyTexts = (input: string | readonly string[] | undefined): string[] =>
  (typeof input === 'string' ? input.split(',') : (input ?? [])).filter((text) => text.trim() !== '')

/** Parses 32 bytes as hexadecimal digits or base64, after an optional id and a colon. */
function parseKey(input: string): EncryptionKey | undefined {
  const [, named, secret = ''] = /^(?:([\w.-]+):)?(.*)$/s.exec(input.trim()) ?? []
  const bytes = /^[0-9a-f]{64}$/i.test(secret)
    ? Buffer.from(secret, 'hex')
    : /^[\w+/-]{43}=?$/.test(secret)
      ? Buffer.from(secret, 'base64')
      : undefined
  if (bytes?.length !== 32) return undefined
  return { kid: named ?? createHash('sha256').update(bytes).digest('hex').slice(0, 8), bytes }
}

/** The problems of keys, each at `key 1`, `key 2` …. No problem contains a key. */
export function findKeyProblems(input: string | readonly string[] | undefined): OptionProblem[] {
  const problems: OptionProblem[] = []
  const ids = new Set<string>()
  for (const [index, text] of keyTexts(input).entries()) {
    const path = `key ${index + 1}`
    const kid = parseKey(text)?.kid
    if (kid === undefined)
      problems.push(
        createProblem(
          path,
          'invalid',
          `${KEY_FORMAT} (create them with: openssl rand -base64 32)`,
          'another text',
        ),
      )
    else if (ids.has(kid))
      problems.push(createProblem(path, 'conflict', 'a unique id', `${kid}, the id of another key`))
    else ids.add(kid)
  }
  return problems
}

/**
 * The keys of payloads, newest first. The newest encrypts, all of them decrypt. A key is 32 bytes as base64 or hexadecimal digits,
 * after an optional id and a colon; without an id, one is derived from the key. Several keys are an array, or a text with commas.
 */
export class KeyRing {
  private readonly keys: readonly EncryptionKey[]

  /** @throws INVALID_OPTIONS for a key that is not valid; the message does not contain it */
  constructor(input: string | readonly string[] | undefined) {
    const problems = findKeyProblems(input)
    if (problems.length > 0) throw createOptionsError('dead_letters.encryption_key', problems)
    this.keys = keyTexts(input).flatMap((text) => parseKey(text) ?? [])
  }

  /** The id of the key that encrypts; undefined without keys. */
  get newestId(): string | undefined {
    return this.keys[0]?.kid
  }

  /** Encrypts a payload for storage. It can be decrypted only together with this id. */
  encrypt(payload: unknown, id: string): unknown {
    const [key] = this.keys
    if (key === undefined)
      return isEncryptedOrMarked(payload)
        ? ({ [MARK]: 'none', data: payload } satisfies UnencryptedPayload)
        : payload
    const iv = randomBytes(12)
    const cipher = createCipheriv(CIPHER, key.bytes, iv).setAAD(Buffer.from(id))
    const data = Buffer.concat([cipher.update(JSON.stringify(payload), 'utf8'), cipher.final()])
    return {
      [MARK]: CIPHER,
      kid: key.kid,
      iv: iv.toString('base64'),
      tag: cipher.getAuthTag().toString('base64'),
      data: data.toString('base64'),
    } satisfies EncryptedPayload
  }

  /** Returns the payload as a copy. @throws CONFIG_INVALID if its key is missing or does not match */
  decrypt(stored: unknown, id: string): unknown {
    if (!isEncryptedOrMarked(stored)) return structuredClone(stored)
    if (stored[MARK] === 'none') return structuredClone(stored.data)
    const { kid, iv, tag, data } = stored
    const key = this.keys.find((each) => each.kid === kid)
    if (key === undefined)
      throw new HoldfastError(
        'CONFIG_INVALID',
        `the payload of ${id} is encrypted with the key ${kid}, which dead_letters.encryption_key does not contain; add it after the newest key`,
      )
    try {
      const decipher = createDecipheriv(CIPHER, key.bytes, Buffer.from(iv, 'base64'), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(id))
        .setAuthTag(Buffer.from(tag, 'base64'))
      const decrypted = Buffer.concat([decipher.update(Buffer.from(data, 'base64')), decipher.final()])
      return JSON.parse(decrypted.toString('utf8'))
    } catch (cause) {
      throw new HoldfastError(
        'CONFIG_INVALID',
        `the payload of ${id} cannot be decrypted with the key ${kid}: it was changed, or another key has this id`,
        { cause },
      )
    }
  }

  /** Whether a stored payload is not encrypted with the newest key. */
  needsRotation(stored: unknown): boolean {
    const kid = isEncryptedOrMarked(stored) && stored[MARK] !== 'none' ? stored.kid : undefined
    return kid !== this.newestId
  }
}
