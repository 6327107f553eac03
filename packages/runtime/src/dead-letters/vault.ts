import type { DeadLetter } from '../records/dead-letter.js'
import { messageOf } from '../records/summary.js'
import type { DeadLetterOptions } from './options.js'
import { Keys } from './seal.js'

/** Payloads on their way into the store and out of it, under the keys that the options name now. */
export class Vault {
  private made: { readonly from: DeadLetterOptions['encryptionKey']; readonly keys: Keys } | undefined =
    undefined
  private readonly options: () => DeadLetterOptions

  constructor(options: () => DeadLetterOptions) {
    this.options = options
  }

  /** @throws INVALID_OPTIONS where an option is no key */
  get keys(): Keys {
    const { encryptionKey } = this.options()
    if (this.made === undefined || this.made.from !== encryptionKey)
      this.made = { from: encryptionKey, keys: new Keys(encryptionKey) }
    return this.made.keys
  }

  /** The entry with its payload as it was given, and shared with nobody. @throws CONFIG_INVALID where the key is not at hand */
  open(entry: DeadLetter): DeadLetter {
    return { ...entry, originalPayload: this.keys.open(entry.originalPayload, entry.dlqId) }
  }

  /** The same for lists: a payload that cannot be read says so, and hides nothing else. */
  show(entry: DeadLetter): DeadLetter {
    try {
      return this.open(entry)
    } catch (error) {
      return { ...entry, originalPayload: { unreadable: messageOf(error) } }
    }
  }
}
