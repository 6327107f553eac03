import type { DeadLetter } from '@holdfast/records'
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
  const isOutdated = ({ originalPayload, editedPayload }: DeadLetter): boolean =>
    keyRing.needsRotation(originalPayload) || (editedPayload != null && keyRing.needsRotation(editedPayload))
  const result: Rotation = { rewritten: 0, unreadable: [] }
  let cursor: string | undefined
  do {
    const page = await store.list({ limit: 500, cursor }, now())
    for (const listed of page.items) {
      if (!isOutdated(listed)) continue
      // Read again, because a payload can have been edited since the page was read.
      const entry = await store.get(listed.dlqId, now())
      if (entry === undefined || !isOutdated(entry)) continue
      const { dlqId, originalPayload, editedPayload } = entry
      const encryptAgain = (stored: unknown): unknown =>
        keyRing.encrypt(keyRing.decrypt(stored, dlqId), dlqId)
      let payloads: [unknown, unknown]
      try {
        payloads = [
          encryptAgain(originalPayload),
          editedPayload == null ? undefined : encryptAgain(editedPayload),
        ]
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
