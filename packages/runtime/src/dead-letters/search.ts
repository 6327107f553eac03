import type { DeadLetter } from '@holdfast/records'
import type { DeadLetterFilter, DeadLetterSelector, DeadLetterStore, Page } from '@holdfast/store'
import { nextMacrotask } from 'holdfast/internal'
import type { PayloadCipher } from './payload-cipher.js'

/** How many entries of the store a search reads at a time. */
const SCAN_SIZE = 200

/** After how many characters of payloads the event loop gets a turn. */
const CHARACTERS_PER_TURN = 256 * 1024

/** Searches entries for a text: in the item id, the correlation id, and the JSON of the payloads, in upper or lower case. */
export class TextMatcher {
  private readonly cipher: PayloadCipher
  private readonly text: string
  private charactersInTurn = 0

  constructor(cipher: PayloadCipher, text: string) {
    this.cipher = cipher
    this.text = text.toLowerCase()
  }

  /** Whether a stored entry contains the text. The event loop gets turns, because payloads can be large and encrypted. */
  async matches(stored: DeadLetter): Promise<boolean> {
    if (this.charactersInTurn >= CHARACTERS_PER_TURN) {
      await nextMacrotask()
      this.charactersInTurn = 0
    }
    const { itemId, correlationId, originalPayload, editedPayload } = this.cipher.decryptForList(stored)
    const texts = [itemId, correlationId, JSON.stringify(originalPayload), JSON.stringify(editedPayload)]
    for (const each of texts) this.charactersInTurn += each?.length ?? 0
    return texts.some((each) => each?.toLowerCase().includes(this.text))
  }
}

/** The entries that a selector finds and that contain a text, oldest first. Payloads can be encrypted, so each entry is read. */
export async function* searchEntries(
  store: DeadLetterStore,
  cipher: PayloadCipher,
  selector: DeadLetterSelector,
  text: string,
  now: Date,
): AsyncGenerator<DeadLetter> {
  const matcher = new TextMatcher(cipher, text)
  let cursor: string | undefined
  do {
    const page = await store.list({ ...selector, limit: SCAN_SIZE, cursor }, now)
    for (const entry of page.items) if (await matcher.matches(entry)) yield entry
    cursor = page.cursor
  } while (cursor !== undefined)
}

/** A page of the entries that contain a text, with stored payloads. */
export async function searchPage(
  store: DeadLetterStore,
  cipher: PayloadCipher,
  filter: DeadLetterFilter,
  text: string,
  now: Date,
): Promise<Page<DeadLetter>> {
  const { limit = 100 } = filter
  const matcher = new TextMatcher(cipher, text)
  const items: DeadLetter[] = []
  let { cursor } = filter
  for (;;) {
    const page: Page<DeadLetter> = await store.list({ ...filter, limit: SCAN_SIZE, cursor }, now)
    for (const [index, entry] of page.items.entries()) {
      if (!(await matcher.matches(entry))) continue
      items.push(entry)
      if (items.length < limit) continue
      // The cursor of the store that continues after this entry.
      const start = await store.list({ ...filter, limit: index + 1, cursor }, now)
      return { items, ...(start.cursor === undefined ? {} : { cursor: start.cursor }) }
    }
    if (page.cursor === undefined) return { items }
    cursor = page.cursor
  }
}
