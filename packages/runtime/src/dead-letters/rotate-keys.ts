import type { DeadLetter } from '@holdfast/records'
import type { DeadLetterStore, KeyRing, StoredPayloads } from '@holdfast/store'
import type { PayloadCipher } from './payload-cipher.js'

/** The result of a key rotation. */
export interface Rotation {
  /** The number of payloads, and of versions of the API's changes with credentials, that were encrypted again. */
  rewritten: number
  /** The entries and members whose key is not configured. They are not changed. */
  unreadable: string[]
}

/** Encrypts every payload with the newest key. It can be interrupted at any point and run again. */
export async function rotateKeys(
  store: DeadLetterStore,
  payloadCipher: PayloadCipher,
  now: () => Date,
): Promise<Rotation> {
  const { keyRing } = payloadCipher
  const result: Rotation = { rewritten: 0, unreadable: [] }
  let cursor: string | undefined
  do {
    const page = await store.list({ limit: 500, cursor }, now())
    for (const listed of page.items)
      if (isOutdated(keyRing, listed)) await rotateEntry(store, keyRing, listed.dlqId, now, result)
    cursor = page.cursor
  } while (cursor !== undefined)
  return result
}

const isOutdated = (keyRing: KeyRing, { originalPayload, editedPayload }: DeadLetter): boolean =>
  keyRing.needsRotation(originalPayload) || (editedPayload != null && keyRing.needsRotation(editedPayload))

/** Encrypts the payloads of an entry again. An entry that is edited after it was read is read again. */
async function rotateEntry(
  store: DeadLetterStore,
  keyRing: KeyRing,
  id: string,
  now: () => Date,
  result: Rotation,
): Promise<void> {
  for (;;) {
    const entry = await store.get(id, now())
    if (entry === undefined || !isOutdated(keyRing, entry)) return
    const written = encryptAgain(keyRing, entry)
    if (written === undefined) {
      result.unreadable.push(id)
      return
    }
    const { originalPayload, editedPayload } = entry
    const isRewritten = await store.rewrite(id, { originalPayload, editedPayload }, written)
    if (isRewritten) result.rewritten++
    if (isRewritten !== false) return
  }
}

/** The payloads of an entry, encrypted with the newest key; undefined if a key is not configured. */
function encryptAgain(
  keyRing: KeyRing,
  { dlqId, originalPayload, editedPayload }: DeadLetter,
): StoredPayloads | undefined {
  const encrypt = (stored: unknown): unknown => keyRing.encrypt(keyRing.decrypt(stored, dlqId), dlqId)
  try {
    return {
      originalPayload: encrypt(originalPayload),
      editedPayload: editedPayload == null ? undefined : encrypt(editedPayload),
    }
  } catch {
    return undefined
  }
}
