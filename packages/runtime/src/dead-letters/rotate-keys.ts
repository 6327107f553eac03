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
    for (const { dlqId, originalPayload } of page.items) {
      if (!keyRing.needsRotation(originalPayload)) continue
      let payload: unknown
      try {
        payload = keyRing.decrypt(originalPayload, dlqId)
      } catch {
        result.unreadable.push(dlqId)
        continue
      }
      await store.rewrite(dlqId, keyRing.encrypt(payload, dlqId))
      result.rewritten++
    }
    cursor = page.cursor
  } while (cursor !== undefined)
  return result
}
