import type { DeadLetterStore } from '@holdfast/store'
import type { PayloadCipher } from './payload-cipher.js'

/** What a rotation of keys did. */
export interface Rotation {
  /** How many payloads, and versions of changes through the API with credentials in them, were encrypted anew. */
  rewritten: number
  /** The entries and members whose key is not at hand. They stay as they are. */
  unreadable: string[]
}

/** Puts every payload under the newest key. It may be stopped anywhere and begun again. */
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
