import type { DeadLetterOptions } from '@holdfast/config'
import { type DeadLetter, errorMessageOf } from '@holdfast/records'
import { KeyRing } from '@holdfast/store'

/** Encrypts and decrypts payloads with the keys that the options name now. */
export class PayloadCipher {
  private cachedKeys:
    | { readonly from: DeadLetterOptions['encryptionKey']; readonly keys: KeyRing }
    | undefined = undefined
  private readonly options: () => DeadLetterOptions

  constructor(options: () => DeadLetterOptions) {
    this.options = options
  }

  /** @throws INVALID_OPTIONS where an option is not a key */
  get keyRing(): KeyRing {
    const { encryptionKey } = this.options()
    if (this.cachedKeys === undefined || this.cachedKeys.from !== encryptionKey)
      this.cachedKeys = { from: encryptionKey, keys: new KeyRing(encryptionKey) }
    return this.cachedKeys.keys
  }

  /** Returns the entry with decrypted copies of its payloads. @throws CONFIG_INVALID where the key is not configured */
  decryptEntry(entry: DeadLetter): DeadLetter {
    const { dlqId, originalPayload, editedPayload } = entry
    return {
      ...entry,
      originalPayload: this.keyRing.decrypt(originalPayload, dlqId),
      ...(editedPayload == null ? {} : { editedPayload: this.keyRing.decrypt(editedPayload, dlqId) }),
    }
  }

  /**
   * The same for lists: a payload that cannot be decrypted is replaced by the reason, and the other entries are not
   * affected.
   */
  decryptForList(entry: DeadLetter): DeadLetter {
    try {
      return this.decryptEntry(entry)
    } catch (error) {
      const unreadable = { unreadable: errorMessageOf(error) }
      return {
        ...entry,
        originalPayload: unreadable,
        ...(entry.editedPayload == null ? {} : { editedPayload: unreadable }),
      }
    }
  }
}
