import type { DeadLetterStore } from '@holdfast/store'
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
    for (const { dlqId, originalPayload, editedPayload } of page.items) {
      const isEdited = editedPayload != null
      if (!keyRing.needsRotation(originalPayload) && !(isEdited && keyRing.needsRotation(editedPayload)))
        continue
      const encryptAgain = (stored: unknown): unknown =>
        keyRing.encrypt(keyRing.decrypt(stored, dlqId), dlqId)
      let payloads: [unknown, unknown]
      try {
        payloads = [encryptAgain(originalPayload), isEdited ? encryptAgain(editedPayload) : undefined]
      } catch {
        result.unreadable.push(dlqId)
        continue
      }
      await store.rewrite(dlqId, ...payloads)
      result.rewritten++
    }
    cursor = page.cursor
  } while (cursor !== undefined)
  return result
}
