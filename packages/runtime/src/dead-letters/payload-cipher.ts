import type { DeadLetterOptions } from '@holdfast/config'
import { type DeadLetter, errorMessageOf } from '@holdfast/records'
import { KeyRing } from '@holdfast/store'

/** Payloads on their way into the store and out of it, under the keys that the options name now. */
export class PayloadCipher {
  private cachedKeys:
    | { readonly from: DeadLetterOptions['encryptionKey']; readonly keys: KeyRing }
    | undefined = undefined
  private readonly options: () => DeadLetterOptions

  constructor(options: () => DeadLetterOptions) {
    this.options = options
  }

  /** @throws INVALID_OPTIONS where an option is no key */
  get keyRing(): KeyRing {
    const { encryptionKey } = this.options()
    if (this.cachedKeys === undefined || this.cachedKeys.from !== encryptionKey)
      this.cachedKeys = { from: encryptionKey, keys: new KeyRing(encryptionKey) }
    return this.cachedKeys.keys
  }

  /** The entry with its payload as it was given, and shared with nobody. @throws CONFIG_INVALID where the key is not at hand */
  decryptEntry(entry: DeadLetter): DeadLetter {
    return { ...entry, originalPayload: this.keyRing.decrypt(entry.originalPayload, entry.dlqId) }
  }

  /** The same for lists: a payload that cannot be read says so, and hides nothing else. */
  decryptForList(entry: DeadLetter): DeadLetter {
    try {
      return this.decryptEntry(entry)
    } catch (error) {
      return { ...entry, originalPayload: { unreadable: errorMessageOf(error) } }
    }
  }
}
